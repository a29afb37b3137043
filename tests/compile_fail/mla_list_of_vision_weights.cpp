// error: it_ends_with_its_lease__keep_to_owned_instead
// error(clang): deleted constructor of .*borrowed_tensor|no matching constructor.*pair<.*borrowed_tensor>
// guard: borrowed_is_pinned
#include <penstock/plan/plan.hpp>
#include <penstock/tensor/borrowed.hpp>

using namespace penstock;

/// All weights of the vision tower, by name, before any of them is used.
struct engine {
#ifdef COMPILE_FAIL
  std::vector<std::pair<std::string, borrowed_tensor>> vision;
#else
  std::vector<std::pair<std::string, owned_tensor<host_memory>>> vision;
#endif
  void operator()(parameter const& p, borrowed_tensor const& t) {
#ifdef COMPILE_FAIL
    vision.emplace_back(p.name, t);
#else
    if (auto copy = t.to_owned()) vision.emplace_back(p.name, *std::move(copy));
#endif
  }
};
