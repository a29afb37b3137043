// error: parameters cannot be described without quant schemes
// guard: policies_name_quant
#include <penstock/arch/llama.hpp>
#include <penstock/pipeline/policies.hpp>
#include <penstock/storage/local.hpp>

struct my_policies : penstock::defaults {
  using storage = penstock::storage::local;
  using ownership = penstock::ownership::place;
#ifdef COMPILE_FAIL
  // no quant
#else
  using quant = penstock::quant::none;
#endif
  using arch = penstock::arch::llama;
};
static_assert(penstock::detail::check_policies<my_policies>::fit());
