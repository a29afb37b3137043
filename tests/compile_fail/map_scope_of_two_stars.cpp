// error: a .\*. needs a range
// guard: map_range
#include <penstock/arch/blocks.hpp>
#include <penstock/arch/weight_map.hpp>

using namespace penstock::arch;

struct mine {
  static constexpr std::string_view name = "mine";
#ifdef COMPILE_FAIL
  static constexpr auto map = each("model.*.layers.*", 0, layers, tensor("norm.weight", hidden));
#else
  static constexpr auto map = each("model.layers.*", 0, layers, tensor("norm.weight", hidden));
#endif
};
static_assert(sizeof(penstock::weight_map_of<mine>) > 0);
