// error: could not convert .*tuple<.*borrowed_tensor>
// error(clang): no matching constructor for initialization of .*tuple<.*borrowed_tensor>
// guard: borrowed_is_pinned
#include <penstock/tensor/borrowed.hpp>
#include <thread>

void look(penstock::borrowed_tensor const& t) {
#ifdef COMPILE_FAIL
  std::thread runs_on([](penstock::borrowed_tensor const& u) { (void)u.size(); }, t);
#else
  std::thread runs_on([](penstock::bytes n) { (void)n; }, t.size());
#endif
  runs_on.join();
}
