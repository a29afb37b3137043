#pragma once
#include <array>
#include <cstdlib>
#include <string_view>

#include <penstock/core/bytes.hpp>

PENSTOCK_BEGIN
/// A number that only the model's config knows, or a sum of products of such: `heads * head_dim`, `kv_lora + rope`.
///
/// A value: it can be compared while compiling and evaluated once the config has been read. At most two terms of two
/// factors each.
struct dim {
  struct term {
    u64 factor = 0;
    std::array<char const*, 2> keys{};  ///< of config.json, dotted where nested; null: no key
    constexpr bool operator==(term const& o) const {
      for (unsigned i = 0; i < 2; ++i) {
        bool const here = keys[i] != nullptr, there = o.keys[i] != nullptr;
        if (here != there || (here && std::string_view{keys[i]} != std::string_view{o.keys[i]})) return false;
      }
      return factor == o.factor;
    }
  };
  std::array<term, 2> terms{};

  constexpr dim() = default;
  constexpr dim(int n) : terms{term{static_cast<u64>(n), {}}, term{}} {}
  constexpr explicit dim(char const* key) : terms{term{1, {key, nullptr}}, term{}} {}

  constexpr bool operator==(dim const&) const = default;
  constexpr bool zero() const { return !terms[0].factor && !terms[1].factor; }
  /// Has it no key: a number that is known while compiling?
  constexpr bool constant() const { return !terms[1].factor && !terms[0].keys[0]; }

  /// Its value, where `number(key)` gives a key's. Saturates: a config's numbers are not to be trusted.
  template <class Numbers>
  constexpr u64 value(Numbers&& number) const {
    u64 sum = 0;
    for (auto const& t : terms) {
      u64 product = t.factor;
      for (auto const* key : t.keys)
        if (key && product && __builtin_mul_overflow(product, u64{number(key)}, &product)) return ~u64{};
      if (__builtin_add_overflow(sum, product, &sum)) return ~u64{};
    }
    return sum;
  }
};

namespace detail {
// Not constexpr: calling it ends constant evaluation. At run time it stops the program.
[[noreturn]] inline void a_dim_has_at_most_two_terms_of_two_factors() { std::abort(); }
}  // namespace detail

constexpr dim operator*(dim const& a, dim const& b) {
  if (a.terms[1].factor && b.terms[1].factor)
    detail::a_dim_has_at_most_two_terms_of_two_factors();  // guard: dim_product
  auto const& single = (a.terms[1].factor ? b : a).terms[0];
  auto const& sum = a.terms[1].factor ? a : b;
  dim product;
  for (unsigned i = 0; i < 2; ++i) {
    auto& t = product.terms[i];
    t.factor = single.factor * sum.terms[i].factor;
    unsigned n = 0;
    for (auto const* key : {single.keys[0], single.keys[1], sum.terms[i].keys[0], sum.terms[i].keys[1]})
      if (key && t.factor) {
        if (n == 2) detail::a_dim_has_at_most_two_terms_of_two_factors();  // guard: dim_factors
        t.keys[n++] = key;
      }
  }
  return product;
}

constexpr dim operator+(dim const& a, dim const& b) {
  if (a.zero()) return b;
  if (b.zero()) return a;
  if (a.terms[1].factor || b.terms[1].factor) detail::a_dim_has_at_most_two_terms_of_two_factors();  // guard: dim_terms
  dim sum;
  sum.terms = {a.terms[0], b.terms[0]};
  return sum;
}
PENSTOCK_END
