// error: no match.*operator=.*optional<.*borrowed_tensor>.*borrowed_tensor
// error(nvcc): no operator "=" matches these operands
// error(clang): no viable overloaded '='
// guard: borrowed_is_pinned
#include <optional>
#include <penstock/tensor/borrowed.hpp>

using namespace penstock;

/// What one layer needs together.
struct fused_a {
#ifdef COMPILE_FAIL
  std::optional<borrowed_tensor> q_a, kv_a;
#else
  std::optional<owned_tensor<host_memory>> q_a, kv_a;
#endif
};
void look(fused_a& layer, borrowed_tensor const& t) {
#ifdef COMPILE_FAIL
  layer.q_a = t;
#else
  if (auto copy = t.to_owned()) layer.q_a = *std::move(copy);
#endif
}
