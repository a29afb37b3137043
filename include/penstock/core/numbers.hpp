#pragma once
#include <bit>
#include <cstring>

#include <penstock/core/dtype.hpp>

PENSTOCK_BEGIN
/// Element types as numbers. Bits, not arithmetic: no rounding mode and no compiler flag changes a result.
/// Exponent bias 7, no infinities, 0x7f and 0xff are NaN.
/// @source OCP 8-bit Floating Point Specification (OFP8), E4M3
constexpr float float_of_e4m3(u8 x) noexcept {
  u32 const sign = u32{x} >> 7 << 31, exponent = x >> 3 & 15, mantissa = x & 7;
  if (exponent == 15 && mantissa == 7) return std::bit_cast<float>(sign | 0x7fc00000u);
  if (!exponent) {
    float const size = static_cast<float>(mantissa) * 0x1p-9f;
    return sign ? -size : size;
  }
  return std::bit_cast<float>(sign | (exponent + 120) << 23 | mantissa << 20);
}
constexpr float float_of_bf16(u16 x) noexcept { return std::bit_cast<float>(u32{x} << 16); }
/// IEEE 754 binary16.
constexpr float float_of_f16(u16 x) noexcept {
  u32 const sign = u32{x} >> 15 << 31, exponent = x >> 10 & 31, mantissa = x & 1023;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | mantissa << 13);
  if (!exponent) {
    float const size = static_cast<float>(mantissa) * 0x1p-24f;
    return sign ? -size : size;
  }
  return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
}
/// Sign, two bits of exponent (bias 1), one of mantissa: 0, 0.5, 1, 1.5, 2, 3, 4, 6; from the low four bits.
/// @source OCP Microscaling Formats (MX) Specification, E2M1
constexpr float float_of_e2m1(u8 x) noexcept {
  constexpr float sizes[] = {0.0f, 0.5f, 1.0f, 1.5f, 2.0f, 3.0f, 4.0f, 6.0f};
  return x & 8 ? -sizes[x & 7] : sizes[x & 7];
}
/// A power of two, 2^(x - 127); 0xff is NaN. @source the same, E8M0
constexpr float float_of_e8m0(u8 x) noexcept {
  return std::bit_cast<float>(x == 0xff ? 0x7fc00000u : x ? u32{x} << 23 : 0x00400000u);
}
/// Nearest, ties to even. A NaN keeps its sign and the head of its payload.
constexpr u16 bf16_of_float(float f) noexcept {
  u32 const x = std::bit_cast<u32>(f);
  if ((x & 0x7fffffffu) > 0x7f800000u) return static_cast<u16>(x >> 16 | 0x40u);
  return static_cast<u16>((x + 0x7fffu + (x >> 16 & 1u)) >> 16);
}

/// `n` numbers stored as BF16, F16 or F32.
inline void floats_of(dtype t, std::byte const* from, u64 n, float* to) noexcept {
  if (t == dtype::f32) {
    std::memcpy(to, from, n * sizeof(float));
    return;
  }
  for (u64 i = 0; i < n; ++i) {
    u16 x = 0;
    std::memcpy(&x, from + 2 * i, sizeof x);
    to[i] = t == dtype::bf16 ? float_of_bf16(x) : float_of_f16(x);
  }
}
PENSTOCK_END
