#pragma once
#include <penstock/core/bytes.hpp>

PENSTOCK_BEGIN
/// A box inside a tensor or a parameter: `rows` rows of `width` bytes, the first at byte `at`, each next one `pitch` on.
///
/// A plain value that may be stored and sent anywhere; it names bytes, it does not reach them.
struct region {
  bytes at;
  bytes width;
  u64 rows = 1;
  bytes pitch;

  constexpr bytes size() const noexcept { return rows * width; }
  /// From the first byte to behind the last.
  constexpr bytes extent() const noexcept { return rows ? (rows - 1) * pitch + width : bytes{}; }
  constexpr bool operator==(region const&) const = default;
};
PENSTOCK_END
