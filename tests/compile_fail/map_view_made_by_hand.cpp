// error: map_view::map_view...? is private
// error(clang): calling a private constructor of class .penstock::map_view
// error(nvcc): map_view::map_view.* is inaccessible
// guard: map_view_comes_from_a_checked_map
#include <penstock/arch/as_stored.hpp>
#include <penstock/arch/weight_map.hpp>

void f() {
#ifdef COMPILE_FAIL
  penstock::map_view const map;
#else
  auto const map = penstock::weight_map_of<penstock::arch::as_stored>::view();
#endif
  (void)map.identity();
}
