#include "../../../examples/generate/bpe.hpp"

#include <boost/test/unit_test.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace {
using generate::token_id;

/// Tokens: the letters by their codes; 200 = ab, 201 = bc, 202 = aa, 203 = abc, 204 = aaaa. Merges in this order.
generate::byte_pairs letters() {
  generate::byte_pairs p;
  for (int c = 'a'; c <= 'y'; ++c) p.add_byte(static_cast<std::uint8_t>(c), static_cast<token_id>(c));
  p.add_merge('b', 'c', 201);
  p.add_merge('a', 'b', 200);
  p.add_merge('a', 'a', 202);
  p.add_merge('a', 201, 203);
  p.add_merge(202, 202, 204);
  return p;
}

void becomes(std::string_view text, std::vector<token_id> const& expected) {
  std::vector<token_id> found;
  letters().encode(text, found);
  BOOST_TEST(found == expected, boost::test_tools::per_element());
}
}  // namespace

BOOST_AUTO_TEST_SUITE(generate_bpe)

BOOST_AUTO_TEST_CASE(the_earlier_merge_goes_first) {
  becomes("abc", {203});
  becomes("ab", {200});
  becomes("xabcx", {'x', 203, 'x'});
}

BOOST_AUTO_TEST_CASE(of_equal_merges_the_left_one_goes_first) {
  becomes("aaa", {202, 'a'});
  becomes("aaaa", {204});
  becomes("aaaaa", {204, 'a'});
  becomes("aaaaaaa", {204, 202, 'a'});
  becomes("aab", {'a', 200});
}

BOOST_AUTO_TEST_CASE(a_byte_without_a_token_is_left_out_and_its_neighbours_meet) {
  becomes("azb", {200});
  becomes("z", {});
  becomes("", {});
}

BOOST_AUTO_TEST_CASE(a_long_piece_is_no_trouble) {
  std::vector<token_id> found;
  letters().encode(std::string(1 << 20, 'a'), found);
  BOOST_TEST(found.size() == (1u << 18));
}

BOOST_AUTO_TEST_SUITE_END()
