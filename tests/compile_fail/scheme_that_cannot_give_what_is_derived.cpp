// error: the quant scheme has no .static void dequantise
// guard: map_numbers
#include <penstock/arch/deepseek.hpp>
#include <penstock/arch/weight_map.hpp>

using namespace penstock;

struct packed {
  static constexpr std::string_view name = "packed";
  static constexpr auto linear = quant::linear_is(quant::payload(".weight", dtype::int8, quant::out, quant::in));
#ifdef COMPILE_FAIL
  // no way back to plain numbers
#else
  static void dequantise(stored_rows const&, float*);
#endif
};
static_assert(sizeof(weight_map_of<arch::deepseek_v3, packed>) > 0);  // w_kc and w_vc are plain numbers
