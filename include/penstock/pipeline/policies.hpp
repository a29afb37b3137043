#pragma once
#include <penstock/device/host.hpp>
#include <penstock/exchange/independent.hpp>
#include <penstock/pipeline/trace.hpp>
#include <penstock/plan/choose_map.hpp>
#include <penstock/storage/backend.hpp>

PENSTOCK_BEGIN
/// What a sink receives.
namespace ownership {
/// Loans of pieces, each for the time of one call.
struct borrow {};
/// Nothing: the sink names the address of each parameter before the first read.
struct place {};
/// Each parameter in memory of its own. @tparam M  a `penstock::memory`
template <memory M = host_memory>
struct own {
  using memory_type = M;
};
}  // namespace ownership

/// The policies that most engines leave as they are. Derive from it and name the other four:
///
///   struct my_policies : penstock::defaults {
///     using storage   = penstock::storage::any;       // where the bytes come from
///     using ownership = penstock::ownership::place;   // what the sink receives
///     using quant     = penstock::quant::none;        // which schemes may occur
///     using arch      = penstock::arch::llama;        // how tensors become parameters
///   };
struct defaults {
  using device = penstock::device::host;
  using exchange = penstock::exchange::independent;
  using trace = no_trace;  // who hears what the lanes do
};

namespace detail {
template <class P>
struct trace_of {
  using type = no_trace;
};
template <class P>
  requires requires { typename P::trace; }
struct trace_of<P> {
  using type = typename P::trace;
};

template <class T>
inline constexpr bool is_ownership = false;
template <>
inline constexpr bool is_ownership<ownership::borrow> = true;
template <>
inline constexpr bool is_ownership<ownership::place> = true;
template <class M>
inline constexpr bool is_ownership<ownership::own<M>> = true;

template <class Ownership, class Device>
inline constexpr bool device_fills = true;
template <class M, class Device>
inline constexpr bool device_fills<ownership::own<M>, Device> = Device::template writes<M>;

/// One sentence for each policy that is missing or does not fit; the maps are checked when all are there.
template <class P>
struct check_policies {
  // guard-begin: policies_name_storage
  static_assert(
      requires { typename P::storage; },
      "penstock: these policies lack `using storage = ...;`: where the bytes come from");
  // guard-end: policies_name_storage
  // guard-begin: policies_name_ownership
  static_assert(
      requires { typename P::ownership; },
      "penstock: these policies lack `using ownership = ...;`: borrow, place or own<Memory>");
  // guard-end: policies_name_ownership
  // guard-begin: policies_name_quant
  static_assert(
      requires { typename P::quant; },
      "penstock: these policies lack `using quant = ...;`: parameters cannot be described without quant schemes "
      "(quant::none for a plain checkpoint)");
  // guard-end: policies_name_quant
  // guard-begin: policies_name_arch
  static_assert(
      requires { typename P::arch; },
      "penstock: these policies lack `using arch = ...;`: how tensors become parameters");
  // guard-end: policies_name_arch
  // guard-begin: policies_name_device
  static_assert(
      requires {
        typename P::device;
        typename P::exchange;
      }, "penstock: these policies lack `device` or `exchange`: derive from penstock::defaults");
  // guard-end: policies_name_device
  static constexpr bool all_named = requires {
    typename P::storage;
    typename P::ownership;
    typename P::quant;
    typename P::arch;
    typename P::device;
    typename P::exchange;
  };
  static constexpr bool fit() {
    if constexpr (all_named) {
      constexpr bool storage = check_storage<typename P::storage>();
      constexpr bool device = check_device<typename P::device>();
      // guard-begin: policies_ownership
      static_assert(is_ownership<typename P::ownership>,
                    "penstock: P::ownership must be ownership::borrow, ownership::place or ownership::own<Memory>");
      // guard-end: policies_ownership
      // guard-begin: policies_exchange
      static_assert(exchange_policy<typename P::exchange>,
                    "penstock: P::exchange must model penstock::exchange_policy");
      if constexpr (exchange_policy<typename P::exchange>)
        static_assert(!P::exchange::needs_communicator,
                      "penstock: P::exchange needs a communicator and this pipeline has none to give: use "
                      "exchange::independent");
      // guard-end: policies_exchange
      if constexpr (device) {
        // guard-begin: policies_own_memory
        static_assert(device_fills<typename P::ownership, typename P::device>,
                      "penstock: own<Memory> allocates where P::device cannot write");
        // guard-end: policies_own_memory
      }
      constexpr bool trace = check_trace<typename trace_of<P>::type>();
      return storage && device && trace && is_ownership<typename P::ownership> &&
             exchange_policy<typename P::exchange> && maps_of<typename P::arch, typename P::quant>().size() > 0;
    }
    return false;
  }
};
}  // namespace detail
PENSTOCK_END
