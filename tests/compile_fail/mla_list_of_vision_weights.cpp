// error: it_ends_with_its_lease__keep_to_owned_instead
// error(clang): deleted constructor of .*borrowed_tensor
// guard: borrowed_is_pinned
#include <penstock/plan/plan.hpp>
#include <penstock/tensor/borrowed.hpp>

using namespace penstock;

/// All weights of the vision tower, before any of them is used.
struct named_weight {
  std::string name;
#ifdef COMPILE_FAIL
  borrowed_tensor weight;
#else
  owned_tensor<host_memory> weight;
#endif
};
void look(std::vector<named_weight>& vision, parameter const& p, borrowed_tensor const& t) {
#ifdef COMPILE_FAIL
  vision.push_back(named_weight{p.name, t});
#else
  if (auto copy = t.to_owned()) vision.push_back(named_weight{p.name, *std::move(copy)});
#endif
}
