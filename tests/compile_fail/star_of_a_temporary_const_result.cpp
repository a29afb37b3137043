// error: deleted.*operator\*
// error(clang): selected deleted operator
// guard: result_arrow_of_a_temporary
#include <penstock/core/result.hpp>

penstock::result<int> const made();

void f() {
#ifdef COMPILE_FAIL
  int const& number = *made();
#else
  auto const r = made();
  int const& number = *r;
#endif
  (void)number;
}
