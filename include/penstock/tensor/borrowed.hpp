#pragma once
#include <concepts>
#include <coroutine>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <type_traits>

#include <penstock/tensor/owned.hpp>

PENSTOCK_BEGIN
namespace detail {
class loans;
[[noreturn]] inline void contract(char const* sentence) {
  std::fputs(sentence, stderr);
  std::abort();
}
}  // namespace detail

/// Why a loan's address is taken; stands at every use of `unsafe_data`, to be found and reviewed.
struct because {
  char const* why;
};

/// Bytes on loan: they lie in a slot that is refilled when the lease ends.
///
/// It is handed to a callback as `borrowed_tensor const&` and cannot be copied, moved, stored or returned. What must
/// outlive the callback is made with `to_owned()`. In checked builds, use after the lease stops the program; the address
/// from `unsafe_data()` is beyond any check.
///
/// @threads  any number of threads may read one loan while it lasts
class borrowed_tensor final {
  struct it_ends_with_its_lease__keep_to_owned_instead;  // a reason: the compiler prints its name with the constructor

 public:
  // guard-begin: borrowed_is_pinned
  borrowed_tensor(borrowed_tensor const&, it_ends_with_its_lease__keep_to_owned_instead* = nullptr) = delete;
  borrowed_tensor(borrowed_tensor&&, it_ends_with_its_lease__keep_to_owned_instead* = nullptr) = delete;
  borrowed_tensor& operator=(borrowed_tensor const&) = delete;  // it ends with its lease: keep to_owned() instead
  static void* operator new(std::size_t) = delete;              // it lives in its callback, not on the heap
  ~borrowed_tensor() {}  // user-provided: not trivially copyable, so no std::bit_cast
  // guard-end: borrowed_is_pinned
  borrowed_tensor const* operator&() const = delete;  // guard: borrowed_has_no_address

  [[nodiscard]] bytes size() const noexcept { return alive(), n_; }

  /// Copies the bytes [first, first + count) to `to`. @param to  host memory, `count` bytes
  void copy_to(std::byte* to, bytes first, bytes count) const {
    alive(), inside(first, count);
    if (count.count) std::memcpy(to, p_ + first.count, count.count);
  }
  /// A copy that may be kept. @errors memory
  template <memory M = host_memory>
  [[nodiscard]] result<owned_tensor<M>> to_owned() const {
    // guard-begin: to_owned_on_the_host
    static_assert(M::space == memory_space::host,
                  "penstock: to_owned<Memory>() copies on the host: Memory must be host memory");
    // guard-end: to_owned_on_the_host
    auto t = owned_tensor<M>::allocate(size());
    if (t && n_.count) std::memcpy(t->data(), p_, n_.count);
    return t;
  }
  /// Looks at the bytes [first, first + count): calls `f` with a loan of them, under the same lease.
  template <class F>
  void part(bytes first, bytes count, F&& f) const {
    alive(), inside(first, count);
    borrowed_tensor const sub{p_ + first.count, count, now_, then_};
    f(sub);
  }
  /// The address, for C interfaces and kernels. Not watched: a pointer that is kept reads other weights after the refill.
  [[nodiscard]] std::byte const* unsafe_data(because) const noexcept { return alive(), p_; }

 private:  // guard: borrowed_is_opaque
  friend class detail::loans;
  borrowed_tensor(std::byte const* p, bytes n, u32 const* now, u32 then) noexcept
      : p_(p), n_(n), now_(now), then_(then) {}
  void alive() const noexcept {
    if (PENSTOCK_CHECKED && __atomic_load_n(now_, __ATOMIC_ACQUIRE) != then_)
      detail::contract("penstock: a borrowed tensor was used after its lease ended; keep to_owned() instead\n");
  }
  void inside(bytes first, bytes count) const noexcept {
    if (first > n_ || count > n_ - first)
      detail::contract("penstock: a part of a borrowed tensor was asked for that lies outside of it\n");
  }
  std::byte const* p_;
  bytes n_;
  u32 const* now_;  // the loan's generation ...
  u32 then_;        // ... when it was lent: a byte copy of this object is caught as well
};

template <class T> concept borrowed = std::same_as<std::remove_cvref_t<T>, borrowed_tensor>;

/// May a value of type T leave a lease? Classes may not, until their author says so.
template <class T>
inline constexpr bool may_leave_a_lease =
    std::is_void_v<T> || std::is_arithmetic_v<T> || std::is_enum_v<T> || is_owned<T>;
template <class T>
inline constexpr bool may_leave_a_lease<result<T>> = may_leave_a_lease<T>;
PENSTOCK_END

/// A coroutine's frame may outlive the lease, whatever its task type: no loan among its parameters.
// guard-begin: no_loan_in_a_coroutine
template <class R, class... Args>
  requires(::penstock::borrowed<Args> || ...)
struct std::coroutine_traits<R, Args...> {
  static_assert(
      !(::penstock::borrowed<Args> || ...),
      "penstock: a coroutine cannot take a borrowed tensor: its frame outlives the lease; pass an owned tensor");
};
// guard-end: no_loan_in_a_coroutine
