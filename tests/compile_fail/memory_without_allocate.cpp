// error: M::allocate\(n\)
#include <cstdlib>
#include <penstock/tensor/owned.hpp>

struct my_memory {
  static void release(void* p, std::size_t) noexcept { std::free(p); }
  static constexpr auto space = penstock::memory_space::host;
#ifdef COMPILE_FAIL
  // no allocate
#else
  static void* allocate(std::size_t n) noexcept { return std::malloc(n); }
#endif
};
static_assert(sizeof(penstock::owned_tensor<my_memory>) > 0);
