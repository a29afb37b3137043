// error: deleted.*text
// guard: uri_text_of_a_temporary
#include <penstock/core/uri.hpp>

penstock::uri made();

void f() {
#ifdef COMPILE_FAIL
  std::string_view const part = made().text();
#else
  auto const where = made();
  std::string_view const part = where.text();
#endif
  (void)part;
}
