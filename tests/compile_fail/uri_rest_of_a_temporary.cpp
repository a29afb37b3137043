// error: deleted.*rest
// guard: uri_rest_of_a_temporary
#include <penstock/core/uri.hpp>

penstock::uri made();

void f() {
#ifdef COMPILE_FAIL
  std::string_view const part = made().rest();
#else
  auto const where = made();
  std::string_view const part = where.rest();
#endif
  (void)part;
}
