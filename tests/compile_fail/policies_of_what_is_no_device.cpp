// error: this device lacks one of the types .staging., .stream., .event.
// guard: device_types
#include <penstock/arch/llama.hpp>
#include <penstock/pipeline/policies.hpp>
#include <penstock/storage/local.hpp>

struct my_policies : penstock::defaults {
  using storage = penstock::storage::local;
  using ownership = penstock::ownership::place;
  using quant = penstock::quant::none;
  using arch = penstock::arch::llama;
#ifdef COMPILE_FAIL
  using device = penstock::host_memory;
#else
  using device = penstock::device::host;
#endif
};
static_assert(penstock::detail::check_policies<my_policies>::fit());
