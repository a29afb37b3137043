// error: a name in this weight map cannot be matched
// guard: map_name
#include <penstock/arch/blocks.hpp>
#include <penstock/arch/weight_map.hpp>

using namespace penstock::arch;

struct mine {
  static constexpr std::string_view name = "mine";
#ifdef COMPILE_FAIL
  static constexpr auto map = rules(tensor("a.0.1.2.3.4.weight", hidden));
#else
  static constexpr auto map = rules(tensor("a.0.1.2.3.weight", hidden));
#endif
};
static_assert(sizeof(penstock::weight_map_of<mine>) > 0);
