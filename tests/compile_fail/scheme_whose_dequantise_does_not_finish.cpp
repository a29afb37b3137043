// error: the quant scheme has no .struct dequantise. that models retained_group
// guard: map_numbers
#include <penstock/arch/weight_map.hpp>

using namespace penstock;

struct mine {
  static constexpr std::string_view name = "mine";
  static constexpr auto map = arch::rules(arch::linear("o_proj", 64, 64).in_model_dtype());
};
struct my_scheme {
  static constexpr std::string_view name = "my_scheme";
  static constexpr auto linear = quant::linear_is(quant::payload(".weight", dtype::int8, quant::out, quant::in));
  struct dequantise {
    using kept = std::tuple<owned_tensor<host_memory>>;
#ifdef COMPILE_FAIL
    static void begin(kept&);
#else
    static void finish(kept&, borrowed_tensor const&, std::byte*);
#endif
  };
};
static_assert(sizeof(weight_map_of<mine, my_scheme>) > 0);
