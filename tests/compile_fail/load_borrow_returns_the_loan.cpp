// error: what this sink returns could carry the loan out of its lease
// guard: borrow_returns_no_loan
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
  auto sink = [](parameter const&, landed_piece const&, borrowed_tensor const& t) -> auto const& { return t; };
#else
  auto sink = [](parameter const&, landed_piece const&, borrowed_tensor const& t) { return t.size().count; };
#endif
  (void)loader.load(plan, sink);
}
