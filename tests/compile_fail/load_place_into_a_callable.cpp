// error: ownership::place needs a sink with .placement destination
// guard: place_needs_destinations
#include <penstock/arch/llama.hpp>
#include <penstock/pipeline/pipeline.hpp>
#include <penstock/storage/local.hpp>

using namespace penstock;

struct my_policies : defaults {
  using storage = penstock::storage::local;
  using ownership = penstock::ownership::place;
  using quant = penstock::quant::none;
  using arch = penstock::arch::llama;
};

void f(pipeline<my_policies>& loader, pipeline<my_policies>::plan_type const& plan) {
#ifdef COMPILE_FAIL
  auto sink = [](parameter const&, landed_piece const&, borrowed_tensor const&) {};
#else
  struct {
    placement destination(parameter const&) { return {}; }
  } sink;
#endif
  (void)loader.load(plan, sink);
}
