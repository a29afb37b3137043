// error: it_ends_with_its_lease__keep_to_owned_instead
// error(clang): deleted constructor of .*borrowed_tensor
// guard: borrowed_is_pinned
#include <penstock/tensor/lease.hpp>

void f(penstock::detail::loans& slots, std::byte const* p) {
#ifdef COMPILE_FAIL
  (void)slots.lend(p, penstock::bytes{8}, [](penstock::borrowed_tensor const& t) { return t; });
#else
  (void)slots.lend(p, penstock::bytes{8}, [](penstock::borrowed_tensor const& t) { return t.to_owned(); });
#endif
}
