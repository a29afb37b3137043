#pragma once
#include <array>

#include <penstock/core/dtype.hpp>

PENSTOCK_BEGIN
/// Some rows of a linear [n, k] as one rank holds it: the payload of these rows, and the scheme's other parts whole.
struct stored_rows {
  static constexpr std::size_t most_sides = 3;

  u64 n = 0, k = 0;                                  ///< of the rank's share
  u64 first = 0, count = 0;                          ///< the rows
  dtype type{};                                      ///< of the payload
  std::byte const* payload = nullptr;                ///< of row `first`; rows are tight
  std::array<std::byte const*, most_sides> sides{};  ///< the other parts, in the scheme's order, tight
  std::array<u64, 2> unit{1, 1};                     ///< elements of N and of K under one element of the first side
  u64 packed = 1;                                    ///< elements of K in one stored element of the payload
  dtype side_type{};                                 ///< of the first side
};
/// Writes `count` rows of k numbers. Must not throw.
using dequantise_rows = void(stored_rows const&, float* to);
PENSTOCK_END
