// error: P::ownership must be ownership::borrow
// guard: policies_ownership
#include <penstock/arch/llama.hpp>
#include <penstock/pipeline/policies.hpp>
#include <penstock/storage/local.hpp>

struct my_policies : penstock::defaults {
  using storage = penstock::storage::local;
#ifdef COMPILE_FAIL
  using ownership = penstock::host_memory;
#else
  using ownership = penstock::ownership::own<penstock::host_memory>;
#endif
  using quant = penstock::quant::none;
  using arch = penstock::arch::llama;
};
static_assert(penstock::detail::check_policies<my_policies>::fit());
