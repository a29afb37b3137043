// error: M::space
#include <cstdlib>
#include <penstock/tensor/owned.hpp>

struct my_memory {
  static void* allocate(std::size_t n) noexcept { return std::malloc(n); }
  static void release(void* p, std::size_t) noexcept { std::free(p); }
#ifdef COMPILE_FAIL
  // no space
#else
  static constexpr auto space = penstock::memory_space::host;
#endif
};
static_assert(sizeof(penstock::owned_tensor<my_memory>) > 0);
