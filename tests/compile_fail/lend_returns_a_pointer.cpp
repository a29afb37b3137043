// error: could carry the loan out of its lease
// guard: no_loan_in_a_result
#include <memory>
#include <penstock/tensor/lease.hpp>

void f(penstock::detail::loans& slots, std::byte const* p) {
#ifdef COMPILE_FAIL
  (void)slots.lend(p, penstock::bytes{8}, [](penstock::borrowed_tensor const& t) { return std::addressof(t); });
#else
  (void)slots.lend(p, penstock::bytes{8}, [](penstock::borrowed_tensor const& t) { return t.size().count; });
#endif
}
