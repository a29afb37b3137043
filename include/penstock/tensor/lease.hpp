#pragma once
#include <memory>
#include <new>
#include <utility>

#include <penstock/tensor/borrowed.hpp>

PENSTOCK_BEGIN
/// The right to look at a slot, and the stream on which that may go on after the callback.
///
/// What a borrowing sink enqueues on `stream()` inside the callback is waited for before the slot is refilled; what it
/// enqueues anywhere else is not.
template <class Stream>
class lease {
 public:
  explicit lease(Stream& s) noexcept : stream_(s) {}
  // guard-begin: lease_stays_where_it_is
  lease(lease const&) = delete;             // the stream is its slot's: take `lease const&`
  lease& operator=(lease const&) = delete;  // the stream is its slot's: take `lease const&`
  // guard-end: lease_stays_where_it_is
  [[nodiscard]] Stream& stream() const noexcept { return stream_; }

 private:
  Stream& stream_;
};

namespace detail {
/// Makes loans, in a ring of cells: a stale reference meets its own dead loan and not the next live one.
///
/// The guarantee lasts for `cells` further loans. @threads one at a time
class loans {
 public:
  static constexpr u32 cells = 4096;

  /// Calls `f` with a loan of `n` bytes at `p`; the loan is over when `f` returns or throws.
  /// @returns what `f` returns
  template <class F>
  auto lend(std::byte const* p, bytes n, F&& f) {
    // guard-begin: loan_is_taken_by_reference
    static_assert(std::is_invocable_v<F&, borrowed_tensor const&>,
                  "penstock: a loan is taken as `borrowed_tensor const&`; no other type can receive it");
    // guard-end: loan_is_taken_by_reference
    if constexpr (std::is_invocable_v<F&, borrowed_tensor const&>) {
      using R = std::invoke_result_t<F&, borrowed_tensor const&>;
      // guard-begin: no_loan_in_a_result
      static_assert(
          may_leave_a_lease<R>,
          "penstock: what this callback returns could carry the loan out of its lease: return void, a number, "
          "an enum or an owned_tensor, or opt in with penstock::may_leave_a_lease");
      // guard-end: no_loan_in_a_result
      cell& c = ring_[next_++ % cells];
      auto* loan = ::new (static_cast<void*>(c.raw)) borrowed_tensor{p, n, &c.generation, c.generation};
      struct end {
        u32& generation;
        ~end() { __atomic_fetch_add(&generation, 1u, __ATOMIC_RELEASE); }
      } const at_the_end{c.generation};
      return f(std::as_const(*loan));
    }
  }

 private:
  struct cell {
    alignas(borrowed_tensor) std::byte raw[sizeof(borrowed_tensor)];
    u32 generation = 0;
  };
  std::unique_ptr<cell[]> ring_{new cell[cells]};
  u32 next_ = 0;
};
}  // namespace detail
PENSTOCK_END
