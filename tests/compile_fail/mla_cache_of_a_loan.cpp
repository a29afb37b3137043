// error: it_ends_with_its_lease__keep_to_owned_instead
// error(clang): deleted constructor of .*borrowed_tensor
// guard: borrowed_is_pinned
#include <map>
#include <penstock/plan/plan.hpp>
#include <penstock/tensor/borrowed.hpp>

using namespace penstock;

/// Waits for kv_a_proj_with_mqa of its layer.
struct waiting_q_a {
#ifdef COMPILE_FAIL
  borrowed_tensor weight;
#else
  owned_tensor<host_memory> weight;
#endif
};
void look(std::map<layer_id, waiting_q_a>& cache, parameter const& p, borrowed_tensor const& t) {
#ifdef COMPILE_FAIL
  cache.insert({p.layer, waiting_q_a{t}});
#else
  if (auto copy = t.to_owned()) cache.insert({p.layer, waiting_q_a{*std::move(copy)}});
#endif
}
