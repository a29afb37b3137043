// error: derived.. needs as its source a linear of this weight map
// guard: map_source
#include <penstock/arch/weight_map.hpp>

using namespace penstock;

struct mine {
  static constexpr std::string_view name = "mine";
  static constexpr auto map = arch::rules(
#ifdef COMPILE_FAIL
      arch::fuse("ab", arch::linear("a", 64, 64), arch::linear("b", 64, 64)),
#else
      arch::linear("a", 64, 64), arch::linear("b", 64, 64),
#endif
      arch::derived("made", "a", arch::rows_of_head(16, 0, 8)));
};
static_assert(sizeof(weight_map_of<mine, quant::none>) > 0);
