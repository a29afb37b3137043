#pragma once
#include <penstock/core/numbers.hpp>
#include <penstock/format/quant_declaration.hpp>
#include <penstock/quant/scheme.hpp>

PENSTOCK_BEGIN
namespace quant {
/// MXFP4 as gpt-oss stores it: four-bit numbers (E2M1, the even one in the low half of a byte) in blocks of 32 along K with
/// one power of two each. `_blocks` U8 [N, K / 32, 16], a parameter `weight` [N, K / 2]; `_scales` U8 [N, K / 32], a
/// parameter `weight_scale`. A number is e2m1 * 2^(scale - 127).
///
/// Declared by `quant_method: mxfp4`. @source gpt-oss, its weight files; OCP Microscaling Formats (MX) Specification
struct mxfp4 {
  static constexpr std::string_view name = "mxfp4";
  static constexpr auto linear = linear_is(payload("_blocks", dtype::uint8, out, in / 32).times(16).as(".weight"),
                                           scale("_scales", dtype::uint8, out, in / 32).as(".weight_scale"));

  static void dequantise(stored_rows const& r, float* to) noexcept {
    for (u64 row = 0; row < r.count; ++row)
      for (u64 column = 0; column < r.k; ++column) {
        auto const pair = static_cast<u8>(r.payload[(row * r.k + column) / 2]);
        auto const scale = static_cast<u8>(r.sides[0][((r.first + row) * r.k + column) / 32]);
        to[row * r.k + column] = float_of_e2m1(static_cast<u8>(column % 2 ? pair >> 4 : pair)) * float_of_e8m0(scale);
      }
  }
};
static_assert(quant_scheme<mxfp4> && dequantises<mxfp4>);
}  // namespace quant
PENSTOCK_END
