// error: P::exchange must model penstock::exchange_policy
// guard: policies_exchange
#include <penstock/arch/llama.hpp>
#include <penstock/pipeline/policies.hpp>
#include <penstock/storage/local.hpp>

struct my_exchange {};
struct my_policies : penstock::defaults {
  using storage = penstock::storage::local;
  using ownership = penstock::ownership::place;
  using quant = penstock::quant::none;
  using arch = penstock::arch::llama;
#ifdef COMPILE_FAIL
  using exchange = my_exchange;
#else
  using exchange = penstock::exchange::independent;
#endif
};
static_assert(penstock::detail::check_policies<my_policies>::fit());
