// error: no match.*emplace
// error(clang): no matching member function for call to 'emplace'
// guard: borrowed_is_pinned
#include <penstock/tensor/borrowed.hpp>
#include <variant>

void look(penstock::borrowed_tensor const& t) {
#ifdef COMPILE_FAIL
  std::variant<int, penstock::borrowed_tensor> kept;
  kept.emplace<1>(t);
#else
  std::variant<int, penstock::owned_tensor<penstock::host_memory>> kept;
  if (auto copy = t.to_owned()) kept.emplace<1>(*std::move(copy));
#endif
}
