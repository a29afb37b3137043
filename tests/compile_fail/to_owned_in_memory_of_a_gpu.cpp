// error: Memory must be host memory
// guard: to_owned_on_the_host
#include <penstock/tensor/borrowed.hpp>

struct gpu_memory {
  static constexpr auto space = penstock::memory_space::cuda;
  static void* allocate(std::size_t) noexcept;
  static void release(void*, std::size_t) noexcept;
};

void look(penstock::borrowed_tensor const& t) {
#ifdef COMPILE_FAIL
  (void)t.to_owned<gpu_memory>();
#else
  (void)t.to_owned<penstock::host_memory>();
#endif
}
