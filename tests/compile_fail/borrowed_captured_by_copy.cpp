// error: it_ends_with_its_lease__keep_to_owned_instead
// error(clang): deleted constructor of .*borrowed_tensor
// guard: borrowed_is_pinned
#include <penstock/tensor/borrowed.hpp>

void look(penstock::borrowed_tensor const& t) {
#ifdef COMPILE_FAIL
  auto const later = [t] { return t.size(); };
#else
  auto const later = [n = t.size()] { return n; };
#endif
  (void)later();
}
