#pragma once
#include <array>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>

#include <penstock/core/dtype.hpp>

PENSTOCK_BEGIN
/// The extents of a tensor, in elements, outermost first. At most eight.
class shape {
 public:
  static constexpr unsigned most = 8;

  constexpr shape() = default;
  constexpr shape(std::initializer_list<u64> extents) noexcept {
    for (auto e : extents) push_back(e);
  }
  /// Call at most eight times.
  constexpr void push_back(u64 extent) noexcept { extents_[rank_++] = extent; }

  constexpr unsigned rank() const noexcept { return rank_; }
  constexpr u64 operator[](unsigned i) const noexcept { return extents_[i]; }
  constexpr u64& operator[](unsigned i) noexcept { return extents_[i]; }
  constexpr std::span<u64 const> extents() const noexcept { return {extents_.data(), rank_}; }
  constexpr bool operator==(shape const& o) const noexcept {
    if (rank_ != o.rank_) return false;
    for (unsigned i = 0; i < rank_; ++i)
      if (extents_[i] != o.extents_[i]) return false;
    return true;
  }
  /// The product of the extents (1 for rank 0). @returns nothing where it does not fit 64 bits.
  constexpr std::optional<u64> elements() const noexcept {
    u64 n = 1;
    for (unsigned i = 0; i < rank_; ++i)
      if (__builtin_mul_overflow(n, extents_[i], &n)) {
        for (unsigned k = 0; k < rank_; ++k)
          if (!extents_[k]) return 0;
        return std::nullopt;
      }
    return n;
  }
  /// Size of a tensor of this shape. @returns nothing where it overflows or is no whole number of bytes.
  constexpr std::optional<bytes> size(dtype t) const noexcept {
    auto const n = elements();
    u64 bits = 0;
    if (!n || __builtin_mul_overflow(*n, u64{bits_of(t)}, &bits) || bits % 8) return std::nullopt;
    return bytes{bits / 8};
  }

 private:
  std::array<u64, most> extents_{};
  u8 rank_ = 0;
};

/// As people write it: `[2112, 7168]`.
inline std::string to_string(shape const& s) {
  std::string t = "[";
  for (unsigned i = 0; i < s.rank(); ++i) t += (i ? ", " : "") + std::to_string(s[i]);
  return t + "]";
}
PENSTOCK_END
