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
  constexpr dim area = heads * head_dim, sum = head_dim + rope, twice = 2 * hidden;
  constexpr dim both = heads * head_dim + heads * rope, cube = 3 * (head_dim * head_dim);
  constexpr dim spread[] = {heads * (head_dim + rope), (head_dim + rope) * heads};
  constexpr dim thrice = 3 * (head_dim + rope);
  BOOST_TEST(in_config(area) == 576u);
  BOOST_TEST(in_config(sum) == 80u);
  BOOST_TEST(in_config(twice) == 1152u);
  BOOST_TEST(in_config(both) == 720u);
  BOOST_TEST(in_config(spread[0]) == 720u);
  BOOST_TEST(in_config(spread[1]) == 720u);
  BOOST_TEST(in_config(thrice) == 240u);
  BOOST_TEST(in_config(cube) == 12288u);
}

BOOST_AUTO_TEST_CASE(a_sum_with_nothing_is_the_other) {
  static_assert(hidden + dim{} == hidden);
  static_assert(dim{} + hidden == hidden);
  static_assert((0 * hidden).zero());
  static_assert((0 * (hidden + rope)).zero());
  BOOST_TEST(dim{}.zero());
}

BOOST_AUTO_TEST_CASE(equal_texts_are_equal_dims_wherever_they_stand) {
  char const elsewhere[] = "hidden_size";
  BOOST_TEST((dim{elsewhere} == hidden));
  static_assert(heads * head_dim == heads * head_dim);
  static_assert(heads * head_dim != heads);
  static_assert(2 * hidden != hidden);
  BOOST_TEST((hidden != heads));
  BOOST_TEST((dim{1} != hidden));
}

BOOST_AUTO_TEST_CASE(a_dim_without_a_key_is_known_while_compiling) {
  static_assert(dim{64}.constant() && dim{}.constant() && (dim{8} * dim{8}).constant());
  static_assert(!(2 * hidden).constant() && !(hidden + 1).constant());
  static_assert(dim{8} * dim{8} == dim{64});
  BOOST_TEST(!hidden.constant());
}

BOOST_AUTO_TEST_CASE(a_product_with_zero_does_not_ask_for_its_keys) {
  constexpr dim nothing = 0 * hidden + dim{};
  unsigned asked = 0;
  auto const value = nothing.value([&](char const*) { return ++asked, u64{1}; });
  BOOST_TEST(value == 0u);
  BOOST_TEST(asked == 0u);
}

BOOST_AUTO_TEST_CASE(numbers_that_are_too_large_end_at_the_largest) {
  constexpr dim product = heads * head_dim, twice = 2 * hidden, sum = hidden + heads, next = hidden + 1;
  auto const large = [](char const*) { return u64{1} << 40; };
  auto const half = [](char const*) { return u64{1} << 63; };
  BOOST_TEST(product.value(large) == ~u64{0});
  BOOST_TEST(twice.value(half) == ~u64{0});
  BOOST_TEST(sum.value(half) == ~u64{0});
  BOOST_TEST(next.value(large) == (u64{1} << 40) + 1);
}

BOOST_AUTO_TEST_SUITE_END()
