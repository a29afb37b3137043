#include <boost/test/unit_test.hpp>

#include <penstock/core/shape.hpp>

using namespace penstock;

BOOST_AUTO_TEST_SUITE(core_shape)

BOOST_AUTO_TEST_CASE(a_shape_has_up_to_eight_extents) {
  constexpr shape s{2112, 7168};
  static_assert(s.rank() == 2 && s[0] == 2112 && s[1] == 7168);
  static_assert(s.extents().size() == 2);
  shape t;
  BOOST_TEST(t.rank() == 0u);
  for (u64 i = 0; i < shape::most; ++i) t.push_back(i + 1);
  BOOST_TEST(t.rank() == 8u);
  BOOST_TEST((t.elements() == 40320u));
  t[7] = 0;
  BOOST_TEST((t.elements() == 0u));
}

BOOST_AUTO_TEST_CASE(shapes_are_equal_by_rank_and_extents) {
  BOOST_TEST((shape{1, 2} == shape{1, 2}));
  BOOST_TEST((shape{1, 2} != shape{2, 1}));
  BOOST_TEST((shape{1} != shape{1, 1}));
  BOOST_TEST((shape{} != shape{0}));
}

BOOST_AUTO_TEST_CASE(the_product_of_extents_does_not_overflow_unseen) {
  BOOST_TEST((shape{}.elements() == 1u));
  BOOST_TEST((shape{1ull << 32, 1ull << 31}.elements() == 1ull << 63));
  BOOST_TEST((!shape{1ull << 32, 1ull << 32}.elements()));
  BOOST_TEST((shape{1ull << 32, 1ull << 32, 0}.elements() == 0u));
  BOOST_TEST((shape{0, 1ull << 32, 1ull << 32}.elements() == 0u));
}

BOOST_AUTO_TEST_CASE(a_size_is_whole_bytes_that_fit) {
  BOOST_TEST((shape{}.size(dtype::f32) == bytes{4}));
  BOOST_TEST((shape{3, 5}.size(dtype::bf16) == bytes{30}));
  BOOST_TEST((shape{2, 8}.size(dtype::f4) == bytes{8}));
  BOOST_TEST((shape{4}.size(dtype::f6_e2m3) == bytes{3}));
  BOOST_TEST((!shape{3}.size(dtype::f4)));
  BOOST_TEST((!shape{1}.size(dtype::f6_e3m2)));
  BOOST_TEST((!shape{1ull << 61}.size(dtype::f64)));
  BOOST_TEST((shape{0, 3}.size(dtype::f4) == bytes{0}));
}

BOOST_AUTO_TEST_CASE(a_shape_is_shown_as_people_write_it) {
  BOOST_TEST(to_string(shape{}) == "[]");
  BOOST_TEST(to_string(shape{7}) == "[7]");
  BOOST_TEST(to_string(shape{2112, 7168}) == "[2112, 7168]");
}
BOOST_AUTO_TEST_SUITE_END()
