// error: deleted.*directory
// guard: snapshot_directory_of_a_temporary
#include <penstock/model/snapshot.hpp>

penstock::local_snapshot opened();

void f() {
#ifdef COMPILE_FAIL
  auto const& folder = opened().directory();
#else
  auto const snapshot = opened();
  auto const& folder = snapshot.directory();
#endif
  (void)folder;
}
