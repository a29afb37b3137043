#pragma once
#include <penstock/core/numbers.hpp>
#include <penstock/quant/scheme.hpp>

PENSTOCK_BEGIN
namespace quant {
/// Plain numbers: `weight` [N, K] in BF16, F16 or F32. In every list of schemes, whether named or not.
struct none {
  static constexpr std::string_view name = "none";
  static constexpr auto linear = linear_is(payload(".weight", dtype::any_float, out, in));

  static void dequantise(stored_rows const& r, float* to) noexcept { floats_of(r.type, r.payload, r.count * r.k, to); }
};
static_assert(quant_scheme<none> && dequantises<none>);
}  // namespace quant
PENSTOCK_END
