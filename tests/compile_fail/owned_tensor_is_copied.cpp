// error: deleted.*owned_tensor
#include <penstock/tensor/owned.hpp>

void f(penstock::owned_tensor<penstock::host_memory>& tensor) {
#ifdef COMPILE_FAIL
  auto const other = tensor;
#else
  auto const other = std::move(tensor);
#endif
  (void)other.size();
}
