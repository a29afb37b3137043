// error: P::exchange needs a communicator and this pipeline has none to give
// guard: policies_exchange
#include <penstock/arch/llama.hpp>
#include <penstock/pipeline/policies.hpp>
#include <penstock/storage/local.hpp>

struct all_to_all {
#ifdef COMPILE_FAIL
  static constexpr bool needs_communicator = true;
#else
  static constexpr bool needs_communicator = false;
#endif
};
struct my_policies : penstock::defaults {
  using storage = penstock::storage::local;
  using ownership = penstock::ownership::place;
  using quant = penstock::quant::none;
  using arch = penstock::arch::llama;
  using exchange = all_to_all;
};
static_assert(penstock::detail::check_policies<my_policies>::fit());
