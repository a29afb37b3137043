// error: a loan is taken as .borrowed_tensor const&.
// guard: loan_is_taken_by_reference
#include <penstock/tensor/lease.hpp>

void f(penstock::detail::loans& slots, std::byte const* p) {
#ifdef COMPILE_FAIL
  slots.lend(p, penstock::bytes{8}, [](penstock::owned_tensor<penstock::host_memory> const&) {});
#else
  slots.lend(p, penstock::bytes{8}, [](penstock::borrowed_tensor const&) {});
#endif
}
