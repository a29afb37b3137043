// error: this storage lacks the type .object.
// guard: storage_object
#include <penstock/arch/llama.hpp>
#include <penstock/pipeline/policies.hpp>
#include <penstock/storage/local.hpp>

struct my_policies : penstock::defaults {
#ifdef COMPILE_FAIL
  using storage = penstock::host_memory;
#else
  using storage = penstock::storage::local;
#endif
  using ownership = penstock::ownership::place;
  using quant = penstock::quant::none;
  using arch = penstock::arch::llama;
};
static_assert(penstock::detail::check_policies<my_policies>::fit());
