// error: a fused parameter of this weight map misses a piece
// guard: map_complete
#include <penstock/arch/blocks.hpp>
#include <penstock/arch/weight_map.hpp>

using namespace penstock::arch;

constexpr auto pair = fuse("gate_up", linear("gate", hidden, hidden).by_out(), linear("up", hidden, hidden).by_out());

struct mine {
  static constexpr std::string_view name = "mine";
#ifdef COMPILE_FAIL
  static constexpr auto map = override_rules(pair, linear("gate", hidden, hidden));
#else
  static constexpr auto map =
      override_rules(pair, fuse("gate_up", linear("gate", hidden, hidden), linear("up", hidden, hidden)));
#endif
};
static_assert(sizeof(penstock::weight_map_of<mine>) > 0);
