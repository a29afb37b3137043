// error: local_snapshot::local_snapshot.*is private
// error(clang): calling a private constructor of class .penstock::local_snapshot
// guard: snapshot_comes_from_opening
#include <penstock/model/snapshot.hpp>

penstock::local_snapshot opened();

void f() {
#ifdef COMPILE_FAIL
  penstock::local_snapshot const from{std::filesystem::path{"az://models/smollm2"}};
#else
  penstock::local_snapshot const from = opened();
#endif
  (void)from.directory();
}
