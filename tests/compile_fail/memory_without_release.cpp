// error: M::release\(p, n\)
#include <cstdlib>
#include <penstock/tensor/owned.hpp>

struct my_memory {
  static void* allocate(std::size_t n) noexcept { return std::malloc(n); }
  static constexpr auto space = penstock::memory_space::host;
#ifdef COMPILE_FAIL
  // no release
#else
  static void release(void* p, std::size_t) noexcept { std::free(p); }
#endif
};
static_assert(sizeof(penstock::owned_tensor<my_memory>) > 0);
