// error: the_bytes_of_a_temporary_end_with_it__name_the_tensor_first
// guard: data_of_a_temporary
#include <penstock/tensor/owned.hpp>

penstock::owned_tensor<penstock::host_memory> made();

void f() {
#ifdef COMPILE_FAIL
  std::byte const* bytes = made().data();
#else
  auto const tensor = made();
  std::byte const* bytes = tensor.data();
#endif
  (void)bytes;
}
