// error: storage::any_of needs at least one storage
// guard: any_of_some_storages
#include <penstock/storage/any_of.hpp>
#include <penstock/storage/local.hpp>

#ifdef COMPILE_FAIL
using storage = penstock::storage::any_of<>;
#else
using storage = penstock::storage::any_of<penstock::storage::local>;
#endif
void f(storage const&);
static_assert(sizeof(storage) > 0);
