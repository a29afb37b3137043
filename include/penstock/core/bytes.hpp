#pragma once
#include <compare>
#include <cstddef>
#include <cstdint>

#include <penstock/core/config.hpp>

PENSTOCK_BEGIN
using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

/// A count of bytes, or an offset in bytes. Not a count of elements: the two do not mix.
struct bytes {
  u64 count = 0;

  constexpr bytes() = default;
  constexpr explicit bytes(u64 n) noexcept : count(n) {}

  constexpr auto operator<=>(bytes const&) const = default;
  constexpr bytes& operator+=(bytes b) noexcept { return count += b.count, *this; }
  constexpr bytes& operator-=(bytes b) noexcept { return count -= b.count, *this; }
  friend constexpr bytes operator+(bytes a, bytes b) noexcept { return bytes{a.count + b.count}; }
  friend constexpr bytes operator-(bytes a, bytes b) noexcept { return bytes{a.count - b.count}; }
  friend constexpr bytes operator*(u64 n, bytes b) noexcept { return bytes{n * b.count}; }
};

constexpr bytes kibibytes(u64 n) noexcept { return bytes{n << 10}; }
constexpr bytes mebibytes(u64 n) noexcept { return bytes{n << 20}; }
constexpr bytes gibibytes(u64 n) noexcept { return bytes{n << 30}; }

/// A half-open range [first, first + size) of one object.
struct byte_range {
  bytes first;
  bytes size;

  constexpr bytes end() const noexcept { return first + size; }
  constexpr auto operator<=>(byte_range const&) const = default;
};
PENSTOCK_END
