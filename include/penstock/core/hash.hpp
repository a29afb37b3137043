#pragma once
#include <cstring>
#include <string>
#include <string_view>

#include <penstock/core/bytes.hpp>

PENSTOCK_BEGIN
namespace detail {
__extension__ typedef unsigned __int128 u128;

/// Both halves of a 128-bit product, folded.
constexpr u64 fold(u64 a, u64 b) noexcept {
  u128 const product = static_cast<u128>(a) * b;
  return static_cast<u64>(product) ^ static_cast<u64>(product >> 64);
}

/// A 64-bit hash, equal on all hosts for an equal `secret`; not for cryptography.
///
/// Whoever knows the secret can make names that collide: tables of names from files have a secret of their own.
inline u64 hash_of(std::string_view text, u64 secret = 0) noexcept {
  constexpr u64 odd = 0x9e3779b97f4a7c15, other = 0xd1b54a32d192ed03;
  u64 const mask = fold(secret ^ other, odd);
  u64 h = secret ^ odd;
  u64 word[2];
  for (; text.size() >= sizeof word; text.remove_prefix(sizeof word)) {
    std::memcpy(word, text.data(), sizeof word);
    h = fold(word[0] ^ mask, word[1] ^ h);
  }
  word[0] = word[1] = 0;
  if (!text.empty()) std::memcpy(word, text.data(), text.size());
  h = fold(word[0] ^ mask, word[1] ^ h);
  return fold(h ^ other, text.size() ^ mask);
}

/// A hash of both, in this order.
constexpr u64 hash_of(u64 a, u64 b) noexcept { return fold(a ^ 0x9e3779b97f4a7c15, b ^ 0xd1b54a32d192ed03); }

/// A hash as 16 hexadecimal digits.
inline std::string hex_of(u64 hash) {
  std::string digits;
  for (int shift = 60; shift >= 0; shift -= 4) digits += "0123456789abcdef"[hash >> shift & 15];
  return digits;
}
}  // namespace detail
PENSTOCK_END
