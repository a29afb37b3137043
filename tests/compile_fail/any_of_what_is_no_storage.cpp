// error: storage::any_of takes storages only
// guard: any_of_storages_only
#include <penstock/storage/any_of.hpp>
#include <penstock/storage/local.hpp>

struct my_storage : penstock::storage::local {
#ifdef COMPILE_FAIL
  void list(penstock::uri const&);
#else
  // all that a storage has
#endif
};
static_assert(sizeof(penstock::storage::any_of<my_storage>) > 0);
