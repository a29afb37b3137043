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
  // no exchange
#else
  using exchange = penstock::exchange::independent;
#endif
  using device = penstock::device::host;
};
static_assert(penstock::detail::check_policies<my_policies>::fit());
