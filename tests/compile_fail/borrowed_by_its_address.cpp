// error: deleted .*operator( .)?&
// guard: borrowed_has_no_address
#include <penstock/tensor/borrowed.hpp>

void look(penstock::borrowed_tensor const& t) {
#ifdef COMPILE_FAIL
  auto const* kept = &t;
#else
  auto const* kept = t.unsafe_data(penstock::because{"a C interface takes it, and returns before the lease ends"});
#endif
  (void)kept;
}
