// error: borrowed_tensor.* to .*std::any
// guard: borrowed_is_pinned
#include <any>
#include <penstock/tensor/borrowed.hpp>

void look(penstock::borrowed_tensor const& t) {
#ifdef COMPILE_FAIL
  std::any const kept = t;
#else
  std::any const kept = t.size();
#endif
  (void)kept.has_value();
}
