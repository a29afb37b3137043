#pragma once
#include <concepts>
#include <type_traits>

#include <penstock/device/device.hpp>
#include <penstock/plan/plan.hpp>
#include <penstock/tensor/lease.hpp>

PENSTOCK_BEGIN
/// Where a sink wants one parameter. The memory stays the sink's and is not in the load's memory limit.
///
/// Without a pitch the parameter lies tight, row-major. With `row_pitch` its rows (of `parameter.row` bytes) lie that far
/// apart; with `expert_stride` the matrices of the two innermost dimensions do, for rank 3 and more. Bytes between them
/// are not touched. @param at  null declines the parameter: its bytes are dropped and it is never announced
struct placement {
  std::byte* at = nullptr;
  bytes row_pitch{};      ///< 0: tight
  bytes expert_stride{};  ///< 0: tight over the row pitch
  memory_space space = memory_space::host;
};

/// Which bytes a loan holds: a box of the parameter, and how its rows lie inside the loan.
struct landed_piece {
  region where;  ///< inside the parameter, tight
  bytes pitch;   ///< from row to row inside the loan
};

/// Takes parameters in memory of its own, which it names when the load begins, before the first read:
///
///   placement destination(parameter const&)
template <class S>
concept placing_sink = requires(S& s, parameter const& p) {
  { s.destination(p) } -> std::same_as<placement>;
};

/// Takes parameters in memory that it makes when a parameter's first read is admitted (`own_sink` is one):
///
///   result<placement> allocate(parameter const&)     one at a time; never null; an error ends the load
template <class S>
concept allocating_sink = requires(S& s, parameter const& p) {
  { s.allocate(p) } -> std::same_as<result<placement>>;
};

/// Looks at pieces while they lie in a slot, and may go on looking on the lease's stream:
///
///   void piece(parameter const&, landed_piece const&, borrowed_tensor const&, lease<Stream>&)
template <class S, class Stream>
concept borrowing_sink =
    requires(S& s, parameter const& p, landed_piece const& w, borrowed_tensor const& t, lease<Stream>& l) {
      { s.piece(p, w, t, l) } -> std::same_as<void>;
    };

// Each kind of sink may also have
//   void ready(parameter const&)      all of a parameter's bytes are there: the events of all slots that fed it are done
//   void layer_ready(layer_id)        all parameters of a layer were announced; not for layers in which there is none
// Callbacks come on the load's threads, one at a time unless `load_options::serial_sink` is off. An exception that
// leaves one ends the load and passes through `load` after everything is quiet.

namespace detail {
template <class S> concept hears_ready = requires(S& s, parameter const& p) { s.ready(p); };
template <class S> concept hears_layer_ready = requires(S& s, layer_id l) { s.layer_ready(l); };
template <class S> concept names_ready = requires { &S::ready; };
template <class S> concept names_layer_ready = requires { &S::layer_ready; };

/// One sentence for each way in which a sink does not fit.
template <class S, class Device>
constexpr bool check_sink() {
  constexpr int kinds =
      int{placing_sink<S>} + int{allocating_sink<S>} + int{borrowing_sink<S, typename Device::stream>};
  // guard-begin: sink_takes_parameters
  static_assert(
      kinds != 0,
      "penstock: this is no sink: it needs `placement destination(parameter const&)` (place), `void "
      "piece(parameter const&, landed_piece const&, borrowed_tensor const&, lease<stream>&)` (borrow), or to be "
      "an own_sink");
  // guard-end: sink_takes_parameters
  // guard-begin: sink_is_of_one_kind
  static_assert(kinds <= 1,
                "penstock: this sink both places and borrows: give it one of destination, allocate and piece");
  // guard-end: sink_is_of_one_kind
  // guard-begin: sink_hears_announcements
  static_assert(hears_ready<S> || !names_ready<S>,
                "penstock: this sink's ready cannot be called with a `parameter const&`: it would never be heard");
  static_assert(hears_layer_ready<S> || !names_layer_ready<S>,
                "penstock: this sink's layer_ready cannot be called with a `layer_id`: it would never be heard");
  // guard-end: sink_hears_announcements
  if constexpr (requires { typename S::memory_type; }) {
    // guard-begin: device_writes_owned_memory
    static_assert(
        Device::template writes<typename S::memory_type>,
        "penstock: this device cannot write the memory of own<Memory>: choose a memory of the device's space");
    // guard-end: device_writes_owned_memory
    return kinds == 1 && Device::template writes<typename S::memory_type>;
  }
  return kinds == 1;
}
}  // namespace detail
PENSTOCK_END
