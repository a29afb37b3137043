// error: deleted.*scheme
// guard: uri_scheme_of_a_temporary
#include <penstock/core/uri.hpp>

penstock::uri made();

void f() {
#ifdef COMPILE_FAIL
  std::string_view const part = made().scheme();
#else
  auto const where = made();
  std::string_view const part = where.scheme();
#endif
  (void)part;
}
