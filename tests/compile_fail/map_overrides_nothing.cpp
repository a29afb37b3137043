// error: override_rules\(\) names what the base map does not have
// guard: map_override
#include <penstock/arch/llama.hpp>
#include <penstock/arch/weight_map.hpp>

using namespace penstock::arch;

struct mine {
  static constexpr std::string_view name = "mine";
#ifdef COMPILE_FAIL
  static constexpr auto map =
      override_rules(llama::map, each("model.layers.*", 0, layers, linear("self_attn.o_porj", hidden, hidden)));
#else
  static constexpr auto map =
      override_rules(llama::map, each("model.layers.*", 0, layers, linear("self_attn.o_proj", hidden, hidden)));
#endif
};
static_assert(sizeof(penstock::weight_map_of<mine>) > 0);
