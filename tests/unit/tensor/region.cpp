#include <penstock/tensor/region.hpp>

#include <boost/test/unit_test.hpp>

using namespace penstock;

BOOST_AUTO_TEST_SUITE(tensor_region)

BOOST_AUTO_TEST_CASE(the_size_counts_rows_and_the_extent_the_pitch_as_well) {
  region const box{bytes{10}, bytes{4}, 3, bytes{16}};
  BOOST_TEST(box.size().count == 12u);
  BOOST_TEST(box.extent().count == 36u);
}

BOOST_AUTO_TEST_CASE(a_box_without_rows_spans_nothing) {
  region const box{bytes{10}, bytes{4}, 0, bytes{16}};
  BOOST_TEST(box.size().count == 0u);
  BOOST_TEST(box.extent().count == 0u);
}

BOOST_AUTO_TEST_CASE(one_row_needs_no_pitch) {
  region const box{bytes{7}, bytes{4}, 1, bytes{}};
  BOOST_TEST(box.extent().count == 4u);
  BOOST_TEST((box.size() == box.extent()));
}

BOOST_AUTO_TEST_SUITE_END()
