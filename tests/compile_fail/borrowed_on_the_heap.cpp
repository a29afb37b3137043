// error: deleted .*operator new
// guard: borrowed_is_pinned
#include <penstock/tensor/borrowed.hpp>

void look(penstock::borrowed_tensor const& t) {
#ifdef COMPILE_FAIL
  auto const* kept = new penstock::borrowed_tensor(t);
#else
  auto const* kept = new penstock::bytes(t.size());
#endif
  delete kept;
}
