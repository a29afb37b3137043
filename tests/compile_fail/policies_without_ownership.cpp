// error: these policies lack .using ownership
// guard: policies_name_ownership
#include <penstock/arch/llama.hpp>
#include <penstock/pipeline/policies.hpp>
#include <penstock/storage/local.hpp>

struct my_policies : penstock::defaults {
  using storage = penstock::storage::local;
#ifdef COMPILE_FAIL
  // no ownership
#else
  using ownership = penstock::ownership::place;
#endif
  using quant = penstock::quant::none;
  using arch = penstock::arch::llama;
};
static_assert(penstock::detail::check_policies<my_policies>::fit());
