// error: own<Memory> allocates where P::device cannot write
// guard: policies_own_memory
#include <penstock/arch/llama.hpp>
#include <penstock/pipeline/policies.hpp>
#include <penstock/storage/local.hpp>

struct gpu_memory {
  static constexpr auto space = penstock::memory_space::cuda;
  static void* allocate(std::size_t) noexcept;
  static void release(void*, std::size_t) noexcept;
};
struct my_policies : penstock::defaults {
  using storage = penstock::storage::local;
#ifdef COMPILE_FAIL
  using ownership = penstock::ownership::own<gpu_memory>;
#else
  using ownership = penstock::ownership::own<penstock::host_memory>;
#endif
  using quant = penstock::quant::none;
  using arch = penstock::arch::llama;
};
static_assert(penstock::detail::check_policies<my_policies>::fit());
