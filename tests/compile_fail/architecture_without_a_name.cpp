// error: an architecture must have a .name. and .static constexpr auto map
// guard: weight_map
#include <penstock/arch/weight_map.hpp>

using namespace penstock::arch;

struct mine {
#ifdef COMPILE_FAIL
  // what options and messages would call it
#else
  static constexpr std::string_view name = "mine";
#endif
  static constexpr auto map = rules(tensor("norm.weight", 8));
};
static_assert(sizeof(penstock::weight_map_of<mine>) > 0);
