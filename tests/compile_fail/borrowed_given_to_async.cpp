// error: could not convert .*tuple<.*borrowed_tensor>
// error(clang): no matching constructor for initialization of .*tuple<.*borrowed_tensor>
// guard: borrowed_is_pinned
#include <future>
#include <penstock/tensor/borrowed.hpp>

void look(penstock::borrowed_tensor const& t) {
#ifdef COMPILE_FAIL
  auto const runs_on = std::async([](penstock::borrowed_tensor const& u) { (void)u.size(); }, t);
#else
  auto const runs_on = std::async([](penstock::bytes n) { (void)n; }, t.size());
#endif
  runs_on.wait();
}
