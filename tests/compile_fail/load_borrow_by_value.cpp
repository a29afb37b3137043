// error: a loan goes by const reference
// guard: borrow_needs_loans, borrowed_is_pinned
#include <penstock/arch/llama.hpp>
#include <penstock/pipeline/pipeline.hpp>
#include <penstock/storage/local.hpp>

using namespace penstock;

struct my_policies : defaults {
  using storage = penstock::storage::local;
  using ownership = penstock::ownership::borrow;
  using quant = penstock::quant::none;
  using arch = penstock::arch::llama;
};

void f(pipeline<my_policies>& loader, pipeline<my_policies>::plan_type const& plan) {
#ifdef COMPILE_FAIL
  auto sink = [](parameter const&, landed_piece const&, borrowed_tensor) {};
#else
  auto sink = [](parameter const&, landed_piece const&, borrowed_tensor const&) {};
#endif
  (void)loader.load(plan, sink);
}
