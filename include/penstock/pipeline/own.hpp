#pragma once
#include <type_traits>
#include <utility>
#include <vector>

#include <penstock/pipeline/sink.hpp>

PENSTOCK_BEGIN
/// A sink that gives each parameter memory of its own and hands it over when it is complete.
///
/// Memory is allocated when the first read of a parameter is admitted, so a load that hands tensors on holds few of them
/// at once. Parameters of no bytes are handed over as well. What was not handed over is freed with the sink.
///
/// @tparam M  the memory of the tensors  @tparam F  `f(parameter const&, owned_tensor<M>)`
/// @errors memory, from `load`, where M has none  @threads as the executor calls its sinks
template <memory M, class F>
class own_sink {
  // guard-begin: own_takes_an_owned_tensor
  static_assert(
      std::is_invocable_v<F&, parameter const&, owned_tensor<M>>,
      "penstock: own<Memory> hands over `(parameter const&, owned_tensor<Memory>)`; this callable cannot take it");
  // guard-end: own_takes_an_owned_tensor

 public:
  using memory_type = M;

  /// For loads of `p`, or of another plan with as many parameters.
  own_sink(plan const& p, F f) : f_(std::move(f)), tensors_(p.parameters.size()) {}

  result<placement> allocate(parameter const& p) {
    auto tensor = owned_tensor<M>::allocate(p.size);
    if (!tensor) {
      tensor.error().where().tensor = p.name;
      return std::move(tensor.error());
    }
    auto& mine = tensors_[index_of(p.id)];
    mine = std::move(*tensor);
    return placement{.at = mine.data(), .row_pitch = {}, .expert_stride = {}, .space = M::space};
  }

  void ready(parameter const& p) { f_(p, std::move(tensors_[index_of(p.id)])); }

 private:
  F f_;
  std::vector<owned_tensor<M>> tensors_;
};

/// `auto sink = make_own_sink<host_memory>(plan, [&](parameter const& p, owned_tensor<host_memory> t) { ... });`
template <memory M, class F>
[[nodiscard]] own_sink<M, std::decay_t<F>> make_own_sink(plan const& p, F&& f) {
  return {p, std::forward<F>(f)};
}
PENSTOCK_END
