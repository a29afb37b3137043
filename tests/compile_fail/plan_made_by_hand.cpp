// error: is private within this context
// error(clang): calling a private constructor of class .penstock::pinned_plan
// guard: plan_comes_from_a_checked_map
#include <penstock/arch/llama.hpp>
#include <penstock/pipeline/pipeline.hpp>
#include <penstock/storage/local.hpp>

struct my_policies : penstock::defaults {
  using storage = penstock::storage::local;
  using ownership = penstock::ownership::place;
  using quant = penstock::quant::none;
  using arch = penstock::arch::llama;
};
using loader = penstock::pipeline<my_policies>;

loader::plan_type plan_of(loader const& l, loader::model_type const& m) {
#ifdef COMPILE_FAIL
  return {penstock::plan{}, m.objects, {}, {}};
#else
  return l.plan(m).value();
#endif
}
