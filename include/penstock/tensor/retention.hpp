#pragma once
#include <tuple>
#include <utility>

#include <penstock/tensor/borrowed.hpp>

PENSTOCK_BEGIN
/// Tensors that are needed together: the small ones wait, owned, and the last one streams past them.
///
///   G::kept                              std::tuple of what waits, owned tensors only
///   G::finish(kept&, last, out)          called when the last member arrives; writes to `out`
template <class G>
concept retained_group =
    requires { typename G::kept; } && all_owned<typename G::kept> &&
    requires(typename G::kept& k, borrowed_tensor const& last, std::byte* out) { G::finish(k, last, out); };

/// Where the members of a retained group wait. @threads one at a time
template <class G>
class retention {
  // guard-begin: retained_group_owns
  static_assert(
      requires { typename G::kept; },
      "penstock: a retained group lacks `using kept = std::tuple<owned_tensor<...>...>;`");
  static_assert(
      all_owned<typename G::kept>,
      "penstock: a retained group may keep only owned_tensor<...>: a view is refilled before its partner arrives");
  // guard-end: retained_group_owns
  // guard-begin: retained_group_finishes
  static_assert(
      retained_group<G> || !requires { requires all_owned<typename G::kept>; },
      "penstock: a retained group lacks `static void finish(kept&, borrowed_tensor const& last, std::byte* out)`");
  // guard-end: retained_group_finishes
  struct a_lease_ends_before_the_partner_arrives__keep_t_to_owned;

 public:
  template <std::size_t I>
  void keep(std::tuple_element_t<I, typename G::kept> t) {
    std::get<I>(kept_) = std::move(t);
  }
  // guard-begin: retention_keeps_owned_tensors
  template <std::size_t I, borrowed T, class Reason = a_lease_ends_before_the_partner_arrives__keep_t_to_owned>
  void keep(T const&) = delete;
  // guard-end: retention_keeps_owned_tensors

  [[nodiscard]] typename G::kept& kept() & noexcept { return kept_; }

 private:
  typename G::kept kept_;
};
PENSTOCK_END
