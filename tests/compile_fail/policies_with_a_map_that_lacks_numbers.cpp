// error: the quant scheme has no .static void dequantise
// guard: map_numbers
#include <penstock/arch/llama.hpp>
#include <penstock/pipeline/policies.hpp>
#include <penstock/storage/local.hpp>

struct my_arch {
  static constexpr std::string_view name = "my_arch";
  static constexpr auto map = penstock::arch::rules(penstock::arch::linear("indexer", 64, 64).in_model_dtype());
};
struct my_scheme {
  static constexpr std::string_view name = "my_scheme";
  static constexpr auto linear = penstock::quant::linear_is(penstock::quant::note(".weight", penstock::dtype::int8));
};
struct my_policies : penstock::defaults {
  using storage = penstock::storage::local;
  using ownership = penstock::ownership::place;
#ifdef COMPILE_FAIL
  using quant = my_scheme;
#else
  using quant = penstock::quant::none;
#endif
#ifdef COMPILE_FAIL
  using arch = my_arch;
#else
  using arch = my_arch;
#endif
};
static_assert(penstock::detail::check_policies<my_policies>::fit());
