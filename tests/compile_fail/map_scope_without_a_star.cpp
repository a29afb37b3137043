// error: the scope of each.. or experts.. needs a
// guard: map_range
#include <penstock/arch/weight_map.hpp>

using namespace penstock;

struct mine {
  static constexpr std::string_view name = "mine";
#ifdef COMPILE_FAIL
  static constexpr std::string_view scope = "layers";
#else
  static constexpr std::string_view scope = "layers.*";
#endif
  static constexpr auto map = arch::rules(arch::each(scope, 0, 2, arch::tensor("norm", 4)));
};
static_assert(sizeof(weight_map_of<mine, quant::none>) > 0);
