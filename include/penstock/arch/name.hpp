#pragma once
#include <array>
#include <string_view>

#include <penstock/core/bytes.hpp>

PENSTOCK_BEGIN
namespace arch {
constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

/// FNV-1a, 64 bits. @source Fowler, Noll, Vo: "The FNV Non-Cryptographic Hash Algorithm"
struct fnv {
  u64 hash = 14695981039346656037ull;
  constexpr void add(char c) noexcept { hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ull; }
  constexpr void add(std::string_view s) noexcept {
    for (char c : s) add(c);
  }
};

/// A name with each whole-number segment replaced by `#`: `model.layers.12.mlp` and the pattern `model.layers.*.mlp`
/// have one canonical form, whose hash finds the pattern.
struct canonical_name {
  static constexpr unsigned most_numbers = 4;

  u64 hash = 0;
  u8 numbers = 0;                         ///< whole-number segments seen
  u8 wild = 0;                            ///< bit i: segment i was `*`
  bool bad = false;                       ///< cannot be a name of any map
  std::array<u32, most_numbers> value{};  ///< of the segments that were numbers
};

/// @cost one pass, no allocation. Constant-evaluated for patterns, called at run time for names: both take one path.
///
/// A number of more than nine digits, or one with a leading zero, matches nothing: one number has one spelling.
constexpr canonical_name canonical(std::string_view s) noexcept {
  canonical_name c;
  fnv h;
  char const *p = s.data(), *const end = p + s.size();
  while (p != end) {
    if (is_digit(*p) || *p == '*') {
      char const* q = p;
      u32 number = 0;
      bool const star = *p == '*';
      if (star) ++q;
      else
        for (; q != end && is_digit(*q) && q - p < 10; ++q) number = number * 10 + static_cast<u32>(*q - '0');
      if (q == end || *q == '.') {  // the segment is a number
        if (c.numbers == canonical_name::most_numbers || q - p > 9 || (*p == '0' && q - p > 1)) return c.bad = true, c;
        if (star) c.wild = static_cast<u8>(c.wild | 1u << c.numbers);
        c.value[c.numbers++] = number;
        h.add('#');
        p = q;
      } else if (star) {
        return c.bad = true, c;
      }
    }
    for (; p != end && *p != '.'; ++p) {
      if (*p == '*') return c.bad = true, c;  // in the middle of a segment
      h.add(*p);
    }
    if (p != end) h.add(*p++);
  }
  return c.hash = h.hash, c;
}
/// The canonical form of a name and what follows it, such as the suffix of a part, which has no number of its own.
constexpr canonical_name followed_by(canonical_name c, std::string_view suffix) noexcept {
  fnv h{c.hash};
  h.add(suffix);
  return c.hash = h.hash, c;
}
}  // namespace arch
PENSTOCK_END
