// error: a_lease_ends_before_the_partner_arrives__keep_t_to_owned
// guard: retention_keeps_owned_tensors
#include <penstock/tensor/retention.hpp>

struct scaled {
  using kept = std::tuple<penstock::owned_tensor<penstock::host_memory>>;
  static void finish(kept&, penstock::borrowed_tensor const&, std::byte*);
};

void look(penstock::retention<scaled>& waiting, penstock::borrowed_tensor const& scale) {
#ifdef COMPILE_FAIL
  waiting.keep<0>(scale);
#else
  if (auto copy = scale.to_owned()) waiting.keep<0>(*std::move(copy));
#endif
}
