// error: deleted .*operator new
// guard: borrowed_is_pinned
#include <memory>
#include <penstock/tensor/borrowed.hpp>

void look(penstock::borrowed_tensor const& t) {
#ifdef COMPILE_FAIL
  auto const kept = std::make_unique<penstock::borrowed_tensor>(t);
#else
  auto const kept = std::make_unique<penstock::bytes>(t.size());
#endif
  (void)*kept;
}
