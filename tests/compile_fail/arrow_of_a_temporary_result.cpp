// error: deleted.*operator->
// guard: result_arrow_of_a_temporary
#include <penstock/core/result.hpp>
#include <string>

penstock::result<std::string> made();

void f() {
#ifdef COMPILE_FAIL
  auto const* text = made().operator->();
#else
  auto const result = made();
  auto const* text = result.operator->();
#endif
  (void)text;
}
