// error: deleted.*operator=
// error(clang): overload resolution selected deleted operator
// guard: borrowed_is_pinned
#include <penstock/tensor/borrowed.hpp>

void look(penstock::borrowed_tensor& last, penstock::borrowed_tensor const& t) {
#ifdef COMPILE_FAIL
  last = t;
#else
  (void)last.size();
  (void)t.size();
#endif
}
