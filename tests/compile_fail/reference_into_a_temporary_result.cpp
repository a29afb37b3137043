// error: non-const lvalue reference
// guard: result_value_of_a_temporary
#include <penstock/core/result.hpp>

penstock::result<int> made();

void f() {
#ifdef COMPILE_FAIL
  auto& value = made().value();
#else
  auto const value = made().value();
#endif
  (void)value;
}
