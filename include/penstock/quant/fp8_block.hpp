#pragma once
#include <penstock/core/numbers.hpp>
#include <penstock/format/quant_declaration.hpp>
#include <penstock/quant/scheme.hpp>

PENSTOCK_BEGIN
namespace quant {
/// FP8 with one F32 scale for each block of rows and columns (128 x 128 in public checkpoints, ragged at the edges):
/// `weight` F8_E4M3 [N, K], `weight_scale_inv` F32 [ceil(N / rows), ceil(K / columns)]. A number is weight * scale.
///
/// Declared by `quant_method: fp8` with `weight_block_size`. @source DeepSeek-V3, its config.json and weight files
struct fp8_block {
  static constexpr std::string_view name = "fp8_block";
  static constexpr dim rows{"weight_block_size.0"}, columns{"weight_block_size.1"};
  static constexpr auto linear = linear_is(payload(".weight", dtype::f8_e4m3, out, in),
                                           scale(".weight_scale_inv", dtype::f32, up(out, rows), up(in, columns)));

  static bool declared(quant_declaration const& d) {
    bool const e4m3 = d.format.empty() || d.format == "e4m3" || d.format == "float8_e4m3fn";
    bool const dynamic = d.activation.empty() || d.activation == "dynamic";  // static ones have scales of their own
    return d.method == "fp8" && !d.weight_block_size.empty() && e4m3 && dynamic;
  }

  static void dequantise(stored_rows const& r, float* to) noexcept {
    u64 const across = (r.k + r.unit[1] - 1) / r.unit[1];
    for (u64 row = 0; row < r.count; ++row)
      for (u64 column = 0; column < r.k; ++column) {
        float scale = 0;
        std::memcpy(&scale, r.sides[0] + 4 * ((r.first + row) / r.unit[0] * across + column / r.unit[1]), 4);
        u64 const at = row * r.k + column;
        to[at] = float_of_e4m3(static_cast<u8>(r.payload[at])) * scale;
      }
  }
};
static_assert(quant_scheme<fp8_block> && dequantises<fp8_block>);
}  // namespace quant
PENSTOCK_END
