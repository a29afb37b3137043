#pragma once
#include <optional>
#include <string>
#include <string_view>

#include <penstock/core/config.hpp>

PENSTOCK_BEGIN
namespace detail {
/// %XX becomes a byte; `+` stays `+`. @returns nothing where a `%` is not followed by two hexadecimal digits
/// @source RFC 3986, section 2.1
inline std::optional<std::string> decode_percent(std::string_view text) {
  auto const digit = [](char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
  };
  std::string plain;
  plain.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      plain += text[i];
      continue;
    }
    if (text.size() - i < 3) return std::nullopt;
    int const high = digit(text[i + 1]), low = digit(text[i + 2]);
    if (high < 0 || low < 0) return std::nullopt;
    plain += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return plain;
}
}  // namespace detail
PENSTOCK_END
