// error: a retained group lacks .static void finish
// guard: retained_group_finishes
#include <penstock/tensor/retention.hpp>

using namespace penstock;

struct scale_and_weight {
  using kept = std::tuple<owned_tensor<host_memory>>;
#ifdef COMPILE_FAIL
  // nothing is done when the last one comes
#else
  static void finish(kept&, borrowed_tensor const&, std::byte*);
#endif
};
retention<scale_and_weight> waiting;
