// error: derived.. needs as its source a linear of this weight map
// guard: map_source
#include <penstock/arch/weight_map.hpp>

using namespace penstock;

struct mine {
  static constexpr std::string_view name = "mine";
#ifdef COMPILE_FAIL
  static constexpr std::string_view source = "kv_b";
#else
  static constexpr std::string_view source = "kv_b_proj";
#endif
  static constexpr auto map = arch::rules(arch::linear("kv_b_proj", 64, 64),
                                          arch::derived("w_kc", source, arch::rows_of_head(16, 0, 8).transposed()));
};
static_assert(sizeof(weight_map_of<mine, quant::none>) > 0);
