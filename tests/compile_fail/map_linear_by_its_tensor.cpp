// error: linear\(\) takes a module.s name
// guard: map_module_name
#include <penstock/arch/blocks.hpp>
#include <penstock/arch/weight_map.hpp>

using namespace penstock::arch;

struct mine {
  static constexpr std::string_view name = "mine";
#ifdef COMPILE_FAIL
  static constexpr auto map = rules(linear("model.extra.weight", hidden, hidden));
#else
  static constexpr auto map = rules(linear("model.extra", hidden, hidden));
#endif
};
static_assert(sizeof(penstock::weight_map_of<mine>) > 0);
