// error: two rules of this weight map write one parameter
// guard: map_writes_once
#include <penstock/arch/blocks.hpp>
#include <penstock/arch/weight_map.hpp>

using namespace penstock::arch;

struct mine {
  static constexpr std::string_view name = "mine";
#ifdef COMPILE_FAIL
  static constexpr auto map =
      rules(linear("q_proj", hidden, hidden).as("qk"), linear("k_proj", hidden, hidden).as("qk"));
#else
  static constexpr auto map = fuse("qk", linear("q_proj", hidden, hidden), linear("k_proj", hidden, hidden));
#endif
};
static_assert(sizeof(penstock::weight_map_of<mine>) > 0);
