// error: could carry the loan out of its lease
// guard: no_loan_in_a_result
#include <functional>
#include <penstock/tensor/lease.hpp>

void f(penstock::detail::loans& slots, std::byte const* p) {
#ifdef COMPILE_FAIL
  (void)slots.lend(p, penstock::bytes{8}, [](penstock::borrowed_tensor const& t) { return std::cref(t); });
#else
  (void)slots.lend(p, penstock::bytes{8}, [](penstock::borrowed_tensor const& t) { return t.to_owned(); });
#endif
}
