// error: no match.*emplace
// error(clang): no matching member function for call to 'emplace'
// guard: borrowed_is_pinned
#include <any>
#include <penstock/tensor/borrowed.hpp>

void look(penstock::borrowed_tensor const& t) {
#ifdef COMPILE_FAIL
  std::any kept;
  kept.emplace<penstock::borrowed_tensor>(t);
#else
  std::any kept;
  kept.emplace<penstock::bytes>(t.size());
#endif
}
