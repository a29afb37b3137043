// error: or its pieces differ in layers or condition
// guard: map_complete
#include <penstock/arch/blocks.hpp>
#include <penstock/arch/weight_map.hpp>

using namespace penstock::arch;

struct mine {
  static constexpr std::string_view name = "mine";
#ifdef COMPILE_FAIL
  static constexpr auto map = fuse("gate_up", linear("gate", hidden, hidden), linear("up", hidden, hidden).when(tied));
#else
  static constexpr auto map =
      fuse("gate_up", linear("gate", hidden, hidden).when(tied), linear("up", hidden, hidden).when(tied));
#endif
};
static_assert(sizeof(penstock::weight_map_of<mine>) > 0);
