// error: map_view
#include <penstock/arch/llama.hpp>
#include <penstock/arch/weight_map.hpp>
#include <penstock/plan/make_plan.hpp>

using namespace penstock;

void f(checkpoint const& weights, model_config const& config) {
#ifdef COMPILE_FAIL
  auto const plan = make_plan(weights, config, arch::llama::map, topology{});
#else
  auto const plan = make_plan(weights, config, weight_map_of<arch::llama>::view(), topology{});
#endif
  (void)plan.has_value();
}
