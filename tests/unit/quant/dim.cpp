#include <boost/test/unit_test.hpp>
#include <map>
#include <string>

#include <penstock/quant/dim.hpp>

using namespace penstock;

namespace {
constexpr dim hidden{"hidden_size"}, heads{"num_attention_heads"}, head_dim{"head_dim"}, rope{"qk_rope_head_dim"};

u64 in_config(dim const& d) {
  static std::map<std::string, u64> const numbers{
      {"hidden_size", 576}, {"num_attention_heads", 9}, {"head_dim", 64}, {"qk_rope_head_dim", 16}};
  return d.value([](char const* key) { return numbers.at(key); });
}
}  // namespace

BOOST_AUTO_TEST_SUITE(quant_dim)

BOOST_AUTO_TEST_CASE(a_key_has_the_number_of_the_config) {
  BOOST_TEST(in_config(hidden) == 576u);
  BOOST_TEST(in_config(7) == 7u);
  BOOST_TEST(in_config(dim{}) == 0u);
}

BOOST_AUTO_TEST_CASE(products_and_sums_are_computed) {
  BOOST_TEST(in_config(heads * head_dim) == 576u);
  BOOST_TEST(in_config(head_dim + rope) == 80u);
  BOOST_TEST(in_config(2 * hidden) == 1152u);
  BOOST_TEST(in_config(heads * head_dim + heads * rope) == 720u);
  BOOST_TEST(in_config(heads * (head_dim + rope)) == 720u);
  BOOST_TEST(in_config((head_dim + rope) * heads) == 720u);
  BOOST_TEST(in_config(3 * (head_dim + rope)) == 240u);
  BOOST_TEST(in_config(3 * (head_dim * head_dim)) == 12288u);
}

BOOST_AUTO_TEST_CASE(a_sum_with_nothing_is_the_other) {
  BOOST_TEST((hidden + dim{} == hidden));
  BOOST_TEST((dim{} + hidden == hidden));
  BOOST_TEST((0 * hidden).zero());
  BOOST_TEST((0 * (hidden + rope)).zero());
}

BOOST_AUTO_TEST_CASE(equal_texts_are_equal_dims_wherever_they_stand) {
  char const elsewhere[] = "hidden_size";
  BOOST_TEST((dim{elsewhere} == hidden));
  BOOST_TEST((heads * head_dim == heads * head_dim));
  BOOST_TEST((heads * head_dim != heads));
  BOOST_TEST((2 * hidden != hidden));
  BOOST_TEST((hidden != heads));
  BOOST_TEST((dim{1} != hidden));
}

BOOST_AUTO_TEST_CASE(a_dim_without_a_key_is_known_while_compiling) {
  static_assert(dim{64}.constant() && dim{}.constant() && (dim{8} * dim{8}).constant());
  static_assert(!hidden.constant() && !(2 * hidden).constant() && !(hidden + 1).constant());
  BOOST_TEST((dim{8} * dim{8} == dim{64}));
}

BOOST_AUTO_TEST_CASE(a_product_with_zero_does_not_ask_for_its_keys) {
  unsigned asked = 0;
  auto const value = (0 * hidden + dim{}).value([&](char const*) { return ++asked, u64{1}; });
  BOOST_TEST(value == 0u);
  BOOST_TEST(asked == 0u);
}

BOOST_AUTO_TEST_CASE(numbers_that_are_too_large_end_at_the_largest) {
  auto const huge = [](char const*) { return u64{1} << 40; };
  BOOST_TEST((heads * head_dim).value(huge) == ~u64{0});
  BOOST_TEST((2 * hidden).value([](char const*) { return u64{1} << 63; }) == ~u64{0});
  BOOST_TEST((hidden + heads).value([](char const*) { return u64{1} << 63; }) == ~u64{0});
  BOOST_TEST((hidden + 1).value(huge) == (u64{1} << 40) + 1);
}

BOOST_AUTO_TEST_SUITE_END()
