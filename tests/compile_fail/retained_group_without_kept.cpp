// error: a retained group lacks .using kept
// guard: retained_group_owns
#include <penstock/tensor/retention.hpp>

struct scaled {
  using owned = penstock::owned_tensor<penstock::host_memory>;
#ifdef COMPILE_FAIL
  static void finish(owned&, penstock::borrowed_tensor const&, std::byte*);
#else
  using kept = std::tuple<owned>;
  static void finish(kept&, penstock::borrowed_tensor const&, std::byte*);
#endif
};
static_assert(sizeof(penstock::retention<scaled>) > 0);
