#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <random>
#include <string>
#include <vector>

#include <penstock/format/natural.hpp>

using penstock::natural_less;

BOOST_AUTO_TEST_SUITE(format_natural)

// Case H41, the order.
BOOST_AUTO_TEST_CASE(numbers_inside_of_names_count_as_numbers) {
  static_assert(natural_less("model-2", "model-10"));
  static_assert(!natural_less("model-10", "model-2"));
  static_assert(natural_less("a/9/x", "a/10/b"));
  static_assert(natural_less("a", "a0"));
  static_assert(natural_less("9", "a"));
  static_assert(natural_less("x99999999999999999999", "x100000000000000000000"));  // more than 64 bits
  static_assert(natural_less("z", "\xc3\xbc"));                                    // bytes are unsigned
  BOOST_TEST(natural_less("model-00002-of-00010", "model-00010-of-00010"));
  BOOST_TEST(!natural_less("", ""));
}

BOOST_AUTO_TEST_CASE(it_is_a_total_order_also_of_names_that_differ_in_leading_zeros) {
  std::vector<std::string> names{"",    "0",    "00", "a",   "a0", "a00", "a01", "a1",
                                 "a1b", "a01b", "a2", "a10", "b",  "1",   "01"};
  for (auto const& a : names)
    for (auto const& b : names) {
      BOOST_TEST(natural_less(a, b) + natural_less(b, a) == (a != b));
      for (auto const& c : names)
        if (natural_less(a, b) && natural_less(b, c)) BOOST_TEST(natural_less(a, c));
    }
  auto one = names, other = names;
  std::shuffle(one.begin(), one.end(), std::mt19937{1});
  std::shuffle(other.begin(), other.end(), std::mt19937{2});
  std::sort(one.begin(), one.end(), natural_less);
  std::sort(other.begin(), other.end(), natural_less);
  BOOST_TEST(one == other, boost::test_tools::per_element());
}
BOOST_AUTO_TEST_SUITE_END()
