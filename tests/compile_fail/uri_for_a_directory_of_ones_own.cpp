// error: local_snapshot&. from expression of type .*uri
// error(clang): no known conversion from .*uri. to .*local_snapshot
#include <penstock/model/snapshot.hpp>

// What an engine writes for itself is as safe, if it takes a local_snapshot.
void read_processor(penstock::local_snapshot const& from);

void f(penstock::local_snapshot const& snapshot, penstock::uri const& where) {
#ifdef COMPILE_FAIL
  read_processor(where);
#else
  read_processor(snapshot);
#endif
  (void)snapshot, (void)where;
}
