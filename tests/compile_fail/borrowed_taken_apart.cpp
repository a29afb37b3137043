// error: inaccessible member|private member
// guard: borrowed_is_opaque
#include <penstock/tensor/borrowed.hpp>

void look(penstock::borrowed_tensor const& t) {
#ifdef COMPILE_FAIL
  auto const& [address, size, now, then] = t;
  (void)address, (void)size, (void)now, (void)then;
#else
  (void)t.size();
#endif
}
