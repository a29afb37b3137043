#include <boost/test/unit_test.hpp>
#include <type_traits>

#include <penstock/core/bytes.hpp>

using namespace penstock;

BOOST_AUTO_TEST_SUITE(core_bytes)

BOOST_AUTO_TEST_CASE(bytes_are_no_plain_number) {
  static_assert(!std::is_convertible_v<u64, bytes>);
  static_assert(!std::is_convertible_v<bytes, u64>);
  static_assert(std::is_constructible_v<bytes, u64>);
  static_assert(sizeof(bytes) == sizeof(u64));
  BOOST_TEST(bytes{}.count == 0u);
}

BOOST_AUTO_TEST_CASE(bytes_are_added_and_compared) {
  bytes b{5};
  b += bytes{3};
  b -= bytes{1};
  BOOST_TEST(b.count == 7u);
  BOOST_TEST((b + bytes{1} - bytes{2}).count == 6u);
  BOOST_TEST((3 * b).count == 21u);
  BOOST_TEST((bytes{1} < bytes{2}));
  BOOST_TEST((bytes{2} == bytes{2}));
}

BOOST_AUTO_TEST_CASE(units_are_powers_of_two) {
  BOOST_TEST(kibibytes(3).count == 3072u);
  BOOST_TEST(mebibytes(64).count == 67108864u);
  BOOST_TEST(gibibytes(8).count == 8589934592u);
}

BOOST_AUTO_TEST_CASE(a_range_is_half_open_and_ordered_by_its_beginning) {
  constexpr byte_range r{bytes{10}, bytes{5}};
  static_assert(r.end() == bytes{15});
  BOOST_TEST((r < byte_range{bytes{11}, bytes{0}}));
  BOOST_TEST((byte_range{bytes{10}, bytes{4}} < r));
  BOOST_TEST((r == byte_range{bytes{10}, bytes{5}}));
}
BOOST_AUTO_TEST_SUITE_END()
