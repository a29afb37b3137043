// error: could carry the loan out of its lease
// guard: no_loan_in_a_result
#include <penstock/tensor/lease.hpp>

void f(penstock::detail::loans& slots, std::byte const* p) {
#ifdef COMPILE_FAIL
  using result = penstock::borrowed_tensor const&;
#else
  using result = void;
#endif
  slots.lend(p, penstock::bytes{8},
             [](penstock::borrowed_tensor const& t) -> result { return static_cast<result>(t); });
}
