#pragma once
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include <penstock/core/error.hpp>

PENSTOCK_BEGIN
namespace detail {
[[noreturn]] inline void no_value(error const& e) {
#if defined(__cpp_exceptions)
  throw e;
#else
  std::fprintf(stderr, "penstock: %s: %s\n", name_of(e.kind()).data(), e.what());
  std::abort();
#endif
}
}  // namespace detail

/// A value, or the error that explains why there is none.
///
/// Test it, then use `*r` and `r->`; or call `value()`, which throws the error (and without exceptions prints it and
/// stops). On a temporary, `value()` moves the value out: no reference into a dying result exists.
template <class T>
class [[nodiscard]] result {
  // guard-begin: result_holds_a_value
  static_assert(!std::is_reference_v<T> && !std::is_same_v<T, penstock::error>,
                "penstock: a result holds a value, not a reference or an error");
  // guard-end: result_holds_a_value

 public:
  result(T v) : v_(std::move(v)) {}
  result(penstock::error e) : e_(std::make_unique<penstock::error>(std::move(e))) {}

  [[nodiscard]] bool has_value() const noexcept { return v_.has_value(); }
  explicit operator bool() const noexcept { return has_value(); }

  [[nodiscard]] T& value() & { return check(), *v_; }
  [[nodiscard]] T const& value() const& { return check(), *v_; }
  // guard-begin: result_value_of_a_temporary
  [[nodiscard]] T value() && { return check(), std::move(*v_); }
  void value() const&& = delete;
  // guard-end: result_value_of_a_temporary

  [[nodiscard]] T& operator*() & noexcept { return *v_; }
  [[nodiscard]] T const& operator*() const& noexcept { return *v_; }
  [[nodiscard]] T operator*() && { return std::move(*v_); }
  [[nodiscard]] T* operator->() & noexcept { return std::addressof(*v_); }
  [[nodiscard]] T const* operator->() const& noexcept { return std::addressof(*v_); }
  // guard-begin: result_arrow_of_a_temporary
  void operator*() const&& = delete;
  void operator->() const&& = delete;
  // guard-end: result_arrow_of_a_temporary

  /// Only where there is no value.
  [[nodiscard]] penstock::error& error() & noexcept { return *e_; }
  [[nodiscard]] penstock::error const& error() const& noexcept { return *e_; }
  [[nodiscard]] penstock::error error() && noexcept { return std::move(*e_); }
  void error() const&& = delete;

 private:
  void check() const {
    if (!has_value()) detail::no_value(error());
  }
  // One of the two. A variant's visitors were a tenth of what a unit with all headers takes to parse.
  std::optional<T> v_;
  std::unique_ptr<penstock::error> e_;
};

/// Done, or the error that says why not. One pointer wide.
template <>
class [[nodiscard]] result<void> {
 public:
  result() noexcept = default;
  result(penstock::error e) : e_(std::make_unique<penstock::error>(std::move(e))) {}

  [[nodiscard]] bool has_value() const noexcept { return !e_; }
  explicit operator bool() const noexcept { return has_value(); }
  void value() const {
    if (e_) detail::no_value(*e_);
  }
  [[nodiscard]] penstock::error& error() & noexcept { return *e_; }
  [[nodiscard]] penstock::error const& error() const& noexcept { return *e_; }
  [[nodiscard]] penstock::error error() && noexcept { return std::move(*e_); }
  void error() const&& = delete;

 private:
  std::unique_ptr<penstock::error> e_;
};
PENSTOCK_END
