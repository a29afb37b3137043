// error: a coroutine cannot take a borrowed tensor
// guard: no_loan_in_a_coroutine
#include <penstock/tensor/borrowed.hpp>

struct task {  // as any other project may have it
  struct promise_type {
    task get_return_object() { return {}; }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() {}
  };
};

#ifdef COMPILE_FAIL
task later(penstock::borrowed_tensor t) {
#else
task later(penstock::owned_tensor<penstock::host_memory> t) {
#endif
  (void)t.size();
  co_return;
}
