// error: deleted.*lease
// guard: lease_stays_where_it_is
#include <penstock/tensor/lease.hpp>

struct stream {};

void look(penstock::lease<stream> const& l) {
#ifdef COMPILE_FAIL
  auto const kept = l;
#else
  auto const& kept = l;
#endif
  (void)kept.stream();
}
