// error: deleted.*value
// guard: result_value_of_a_temporary
#include <penstock/core/result.hpp>

penstock::result<int> const made();

void f() {
#ifdef COMPILE_FAIL
  auto const& value = made().value();
#else
  auto const& result = made();
  auto const& value = result.value();
#endif
  (void)value;
}
