#pragma once
#include <memory>
#include <string>
#include <tuple>
#include <utility>

#include <penstock/core/bytes.hpp>
#include <penstock/core/result.hpp>
#include <penstock/tensor/memory.hpp>

PENSTOCK_BEGIN
/// A tensor's bytes in memory of its own: the only form in which bytes may be kept.
///
/// Moves, does not copy. @threads distinct objects are independent
template <memory M>
class owned_tensor {
  struct the_bytes_of_a_temporary_end_with_it__name_the_tensor_first;  // a reason: the compiler prints its name

 public:
  using memory_type = M;

  owned_tensor() = default;
  /// @errors memory
  static result<owned_tensor> allocate(bytes n) {
    owned_tensor t;
    t.p_ = {static_cast<std::byte*>(M::allocate(n.count)), release{n}};
    if (!t.p_)
      return error{error_kind::memory,
                   "expected " + std::to_string(n.count) + " bytes of memory for a tensor, found none"};
    return t;
  }

  [[nodiscard]] bytes size() const noexcept { return p_.get_deleter().n; }
  [[nodiscard]] std::byte* data() & noexcept { return p_.get(); }
  [[nodiscard]] std::byte const* data() const& noexcept { return p_.get(); }
  // guard-begin: data_of_a_temporary
  template <class Reason = the_bytes_of_a_temporary_end_with_it__name_the_tensor_first>
  void data() && = delete;
  template <class Reason = the_bytes_of_a_temporary_end_with_it__name_the_tensor_first>
  void data() const&& = delete;
  // guard-end: data_of_a_temporary

 private:
  struct release {
    bytes n;
    void operator()(std::byte* p) const noexcept { M::release(p, n.count); }
  };
  std::unique_ptr<std::byte, release> p_;
};

template <class T>
inline constexpr bool is_owned = false;
template <class M>
inline constexpr bool is_owned<owned_tensor<M>> = true;

/// Is T a std::tuple of owned tensors only?
template <class T>
inline constexpr bool all_owned = false;
template <class... T>
inline constexpr bool all_owned<std::tuple<T...>> = (is_owned<T> && ...);
PENSTOCK_END
