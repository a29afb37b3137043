// error: ownership::own<Memory> needs a sink that is called as
// guard: own_needs_a_callable
#include <penstock/arch/llama.hpp>
#include <penstock/pipeline/pipeline.hpp>
#include <penstock/storage/local.hpp>

using namespace penstock;

struct my_policies : defaults {
  using storage = penstock::storage::local;
  using ownership = penstock::ownership::own<>;
  using quant = penstock::quant::none;
  using arch = penstock::arch::llama;
};

void f(pipeline<my_policies>& loader, pipeline<my_policies>::plan_type const& plan) {
#ifdef COMPILE_FAIL
  auto sink = [](parameter const&, borrowed_tensor const&) {};
#else
  auto sink = [](parameter const&, owned_tensor<host_memory>) {};
#endif
  (void)loader.load(plan, sink);
}
