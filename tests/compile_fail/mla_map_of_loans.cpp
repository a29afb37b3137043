// error: it_ends_with_its_lease__keep_to_owned_instead
// error(clang): deleted constructor of .*borrowed_tensor|no matching constructor.*pair<.*borrowed_tensor>
// guard: borrowed_is_pinned
#include <map>
#include <penstock/plan/plan.hpp>
#include <penstock/tensor/borrowed.hpp>

using namespace penstock;

struct engine {
#ifdef COMPILE_FAIL
  std::map<layer_id, borrowed_tensor> q_a;
#else
  std::map<layer_id, owned_tensor<host_memory>> q_a;
#endif
  void operator()(parameter const& p, borrowed_tensor const& t) {
#ifdef COMPILE_FAIL
    q_a.try_emplace(p.layer, t);
#else
    if (auto copy = t.to_owned()) q_a.try_emplace(p.layer, *std::move(copy));
#endif
  }
};
