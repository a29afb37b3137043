// error: it_ends_with_its_lease__keep_to_owned_instead
// error(clang): deleted constructor of .*borrowed_tensor
// guard: borrowed_is_pinned
#include <penstock/tensor/borrowed.hpp>
#include <vector>

void look(penstock::borrowed_tensor const& t) {
#ifdef COMPILE_FAIL
  std::vector<penstock::borrowed_tensor> kept;
  kept.push_back(t);
#else
  std::vector<penstock::owned_tensor<penstock::host_memory>> kept;
  if (auto copy = t.to_owned()) kept.push_back(*std::move(copy));
#endif
}
