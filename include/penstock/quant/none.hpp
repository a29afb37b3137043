#pragma once
#include <tuple>

#include <penstock/quant/scheme.hpp>

PENSTOCK_BEGIN
namespace quant {
/// Plain numbers: `weight` [N, K] in BF16, F16 or F32. In every list of schemes, whether named or not.
struct none {
  static constexpr std::string_view name = "none";
  static constexpr auto linear = linear_is(payload(".weight", dtype::any_float, out, in));
  struct dequantise {  // nothing waits: the numbers are plain
    using kept = std::tuple<>;
    static void finish(kept&, borrowed_tensor const& rows, std::byte* to) { rows.copy_to(to, bytes{0}, rows.size()); }
  };
};
static_assert(quant_scheme<none> && dequantises<none>);
}  // namespace quant
PENSTOCK_END
