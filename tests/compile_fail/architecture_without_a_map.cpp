// error: an architecture must have a .name. and .static constexpr auto map
// guard: weight_map
#include <penstock/arch/weight_map.hpp>

using namespace penstock::arch;

struct mine {
  static constexpr std::string_view name = "mine";
#ifdef COMPILE_FAIL
  static constexpr auto rules_of_mine = rules(tensor("norm.weight", 8));
#else
  static constexpr auto map = rules(tensor("norm.weight", 8));
#endif
};
static_assert(sizeof(penstock::weight_map_of<mine>) > 0);
