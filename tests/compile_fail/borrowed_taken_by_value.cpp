// error: it_ends_with_its_lease__keep_to_owned_instead
// error(clang): deleted constructor of .*borrowed_tensor
// guard: borrowed_is_pinned
#include <penstock/tensor/borrowed.hpp>

#ifdef COMPILE_FAIL
void use(penstock::borrowed_tensor t);
#else
void use(penstock::borrowed_tensor const& t);
#endif
void look(penstock::borrowed_tensor const& t) { use(t); }
