#pragma once
#include <string_view>

#include <penstock/core/bytes.hpp>

PENSTOCK_BEGIN
namespace detail {
constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
/// Takes the number at the front of `text`, without leading zeros.
constexpr std::string_view take_number(std::string_view& text) noexcept {
  std::size_t n = 0;
  while (n < text.size() && is_digit(text[n])) ++n;
  auto number = text.substr(0, n);
  text.remove_prefix(n);
  while (number.starts_with('0')) number.remove_prefix(1);
  return number;
}
}  // namespace detail

/// The order of people: numbers inside of names count as numbers, so shard 2 comes before shard 10.
///
/// A total order of texts, the same on every host.
constexpr bool natural_less(std::string_view a, std::string_view b) noexcept {
  auto x = a, y = b;
  while (!x.empty() && !y.empty()) {
    if (detail::is_digit(x[0]) && detail::is_digit(y[0])) {
      auto const m = detail::take_number(x), n = detail::take_number(y);
      if (m.size() != n.size()) return m.size() < n.size();
      if (m != n) return m < n;
    } else {
      if (x[0] != y[0]) return static_cast<u8>(x[0]) < static_cast<u8>(y[0]);
      x.remove_prefix(1);
      y.remove_prefix(1);
    }
  }
  if (x.empty() != y.empty()) return x.empty();
  return a < b;  // they differ in leading zeros at most
}
PENSTOCK_END
