// error: two rules of this weight map claim one tensor
// guard: map_claims_once
#include <penstock/arch/llama.hpp>
#include <penstock/arch/weight_map.hpp>

using namespace penstock::arch;

struct mine {
  static constexpr std::string_view name = "mine";
#ifdef COMPILE_FAIL
  static constexpr auto map =
      rules(llama::map, each("model.layers.*", 0, layers, tensor("input_layernorm.weight", 2 * hidden)));
#else
  static constexpr auto map =
      override_rules(llama::map, each("model.layers.*", 0, layers, tensor("input_layernorm.weight", 2 * hidden)));
#endif
};
static_assert(sizeof(penstock::weight_map_of<mine>) > 0);
