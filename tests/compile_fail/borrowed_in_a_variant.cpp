// error: no match.*variant.*borrowed_tensor
// error(clang): no known conversion from .*borrowed_tensor. to .*variant
// guard: borrowed_is_pinned
#include <penstock/tensor/borrowed.hpp>
#include <variant>

void look(penstock::borrowed_tensor const& t) {
#ifdef COMPILE_FAIL
  std::variant<int, penstock::borrowed_tensor> kept;
  kept = t;
#else
  std::variant<int, penstock::owned_tensor<penstock::host_memory>> kept;
  if (auto copy = t.to_owned()) kept = *std::move(copy);
#endif
}
