// error: the quant scheme has no .static void dequantise
// guard: map_numbers
#include <penstock/arch/weight_map.hpp>

using namespace penstock;

struct mine {
  static constexpr std::string_view name = "mine";
  static constexpr auto map = arch::rules(arch::linear("o_proj", 64, 64).in_model_dtype());
};
struct my_scheme {
  static constexpr std::string_view name = "my_scheme";
  static constexpr auto linear = quant::linear_is(quant::payload(".weight", dtype::int8, quant::out, quant::in));
#ifdef COMPILE_FAIL
  // no way back to plain numbers
#else
  static void dequantise(stored_rows const&, float*);
#endif
};
static_assert(sizeof(weight_map_of<mine, my_scheme>) > 0);
