// error: these policies lack .using arch
// guard: policies_name_arch
#include <penstock/arch/llama.hpp>
#include <penstock/pipeline/policies.hpp>
#include <penstock/storage/local.hpp>

struct my_policies : penstock::defaults {
  using storage = penstock::storage::local;
  using ownership = penstock::ownership::place;
  using quant = penstock::quant::none;
#ifdef COMPILE_FAIL
  // no arch
#else
  using arch = penstock::arch::llama;
#endif
};
static_assert(penstock::detail::check_policies<my_policies>::fit());
