#pragma once
#include <optional>
#include <string>
#include <string_view>

#include <penstock/core/bytes.hpp>

PENSTOCK_BEGIN
// Small things that are done to the text of headers.
namespace net::detail {
inline std::string_view trimmed(std::string_view s) noexcept {
  while (!s.empty() && (s.front() == ' ' || s.front() == '\t')) s.remove_prefix(1);
  while (!s.empty() && static_cast<unsigned char>(s.back()) <= ' ') s.remove_suffix(1);
  return s;
}

inline std::string lower(std::string_view s) {
  std::string t(s);
  for (char& c : t)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return t;
}

/// Digits only, below 2^63.
inline std::optional<u64> number(std::string_view s) noexcept {
  if (s.empty() || s.size() > 19) return std::nullopt;
  u64 n = 0;
  for (char c : s) {
    if (c < '0' || c > '9') return std::nullopt;
    n = n * 10 + static_cast<u64>(c - '0');
  }
  if (n >> 63) return std::nullopt;
  return n;
}

inline std::string text_of(byte_range r) {
  return std::to_string(r.first.count) + "-" + std::to_string(r.end().count - 1);
}

inline bool letter_or_digit(char c) noexcept {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/// Inner runs of blanks become one.
inline std::string one_spaced(std::string_view value) {
  std::string out;
  for (char c : trimmed(value))
    if (c != ' ' || out.back() != ' ') out += c;
  return out;
}

/// What stands after host and port of a URL.
inline std::string_view path_and_query(std::string_view url) {
  auto const slash = url.find('/', url.find("://") + 3);
  return slash == url.npos ? std::string_view("/") : url.substr(slash);
}
}  // namespace net::detail
PENSTOCK_END
