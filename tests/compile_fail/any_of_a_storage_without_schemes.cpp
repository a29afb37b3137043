// error: a storage in storage::any_of lacks .static bool takes
// guard: any_of_knows_the_schemes
#include <penstock/storage/any_of.hpp>
#include <penstock/storage/local.hpp>

struct my_storage : penstock::storage::local {
#ifdef COMPILE_FAIL
  static void takes(penstock::uri const&);
#else
  static bool takes(penstock::uri const& u) { return u.scheme() == "mine"; }
#endif
};
static_assert(sizeof(penstock::storage::any_of<my_storage>) > 0);
