// error: borrowed_tensor.*private
// error(clang): calling a private constructor of class .*borrowed_tensor
// guard: borrowed_is_opaque
#include <penstock/tensor/borrowed.hpp>

void f(std::byte const* p) {
#ifdef COMPILE_FAIL
  penstock::u32 const generation = 0;
  penstock::borrowed_tensor const mine{p, penstock::bytes{8}, &generation, 0};
  (void)mine.size();
#else
  (void)p;
#endif
}
