// error: a retained group may keep only owned_tensor
// guard: retained_group_owns
#include <penstock/tensor/retention.hpp>
#include <vector>

struct fused_a {
#ifdef COMPILE_FAIL
  using kept = std::tuple<std::vector<std::byte const*>>;
#else
  using kept = std::tuple<penstock::owned_tensor<penstock::host_memory>>;
#endif
  static void finish(kept&, penstock::borrowed_tensor const&, std::byte*);
};
static_assert(sizeof(penstock::retention<fused_a>) > 0);
