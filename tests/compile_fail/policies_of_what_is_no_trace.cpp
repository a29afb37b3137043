// error: this trace lacks one of .begin., .spent., .slot.
// guard: trace_is_a_policy
#include <penstock/arch/llama.hpp>
#include <penstock/pipeline/policies.hpp>
#include <penstock/storage/local.hpp>

struct my_trace {};
struct my_policies : penstock::defaults {
  using storage = penstock::storage::local;
  using ownership = penstock::ownership::place;
  using quant = penstock::quant::none;
  using arch = penstock::arch::llama;
#ifdef COMPILE_FAIL
  using trace = my_trace;
#else
  using trace = penstock::no_trace;
#endif
};
static_assert(penstock::detail::check_policies<my_policies>::fit());
