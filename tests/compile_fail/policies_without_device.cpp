// error: these policies lack .device. or .exchange.
// guard: policies_name_device
#include <penstock/arch/llama.hpp>
#include <penstock/pipeline/policies.hpp>
#include <penstock/storage/local.hpp>

struct my_policies {
  using storage = penstock::storage::local;
  using ownership = penstock::ownership::place;
  using quant = penstock::quant::none;
  using arch = penstock::arch::llama;
#ifdef COMPILE_FAIL
  // no device
#else
  using device = penstock::device::host;
#endif
  using exchange = penstock::exchange::independent;
};
static_assert(penstock::detail::check_policies<my_policies>::fit());
