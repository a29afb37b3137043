// error: no match.*emplace.*borrowed_tensor
// error(clang): is_constructible_v<penstock::borrowed_tensor, const penstock::borrowed_tensor &>. was not satisfied
// guard: borrowed_is_pinned
#include <optional>
#include <penstock/tensor/borrowed.hpp>

void look(penstock::borrowed_tensor const& t) {
#ifdef COMPILE_FAIL
  std::optional<penstock::borrowed_tensor> kept;
  kept.emplace(t);
#else
  std::optional<penstock::owned_tensor<penstock::host_memory>> kept;
  if (auto copy = t.to_owned()) kept.emplace(*std::move(copy));
#endif
}
