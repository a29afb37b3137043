// error: a quant scheme must have a .name. and .static constexpr auto linear
// guard: quant_scheme
#include <penstock/arch/weight_map.hpp>

using namespace penstock;

struct mine {
  static constexpr std::string_view name = "mine";
  static constexpr auto map = arch::rules(arch::linear("o_proj", 64, 64));
};
struct my_scheme {
  static constexpr std::string_view name = "my_scheme";
#ifdef COMPILE_FAIL
  static constexpr int bits = 8;  // and nothing about what is stored
#else
  static constexpr auto linear = quant::linear_is(quant::payload(".weight", dtype::int8, quant::out, quant::in));
#endif
};
static_assert(sizeof(weight_map_of<mine, my_scheme>) > 0);
