#pragma once
#include <concepts>
#include <span>

#include <penstock/core/bytes.hpp>
#include <penstock/core/result.hpp>
#include <penstock/tensor/memory.hpp>

PENSTOCK_BEGIN
/// One copy out of a slot, both addresses known: `rows` rows of `width` bytes.
struct copy_op {
  std::byte* to = nullptr;
  std::byte const* from = nullptr;
  u32 width = 0, rows = 1;
  u64 to_pitch = 0, from_pitch = 0;
};

/// Where parameters live and how bytes get there. `stage`, `open_stream` and `bind` are called from several lanes at once.
///
///   result<staging> stage(bytes)      memory that copies may read while the host goes on (pinned, for a GPU): data(), size();
///                                     freed by its destructor
///   result<stream> open_stream()      one for each lane; ordered within, not between
///   bool reaches(byte const*)         may the host write this destination itself? then reads go straight there
///   writes<Memory>                    can it write owned tensors of this memory?
///   result<void> bind()               once in each thread before anything else
///   stream.copy(span<copy_op const>)  all copies of one slot at once; the list is read before it returns, the bytes until
///                                     the event
///   stream.mark(event&)               the event becomes done when everything before it is; may be marked again
///   event.done(), event.wait()        asked by the lane's thread; an error of an earlier copy comes out here
///   synchronous (optional, true)      copies are done when `copy` returns: events are not asked
template <class D>
concept device_backend = requires(D& d, typename D::stream& s, typename D::event& e, bytes n,
                                  std::span<copy_op const> c, std::byte const* p) {
  typename D::staging;
  { d.stage(n) } -> std::same_as<result<typename D::staging>>;
  { d.open_stream() } -> std::same_as<result<typename D::stream>>;
  { d.reaches(p) } -> std::convertible_to<bool>;
  { d.bind() } -> std::same_as<result<void>>;
  { s.copy(c) } -> std::same_as<result<void>>;
  { s.mark(e) } -> std::same_as<result<void>>;
  { e.done() } -> std::same_as<result<bool>>;
  { e.wait() } -> std::same_as<result<void>>;
  { D::template writes<host_memory> } -> std::convertible_to<bool>;
};

namespace detail {
/// One sentence for each thing that a device can lack.
template <class D>
constexpr bool check_device() {
  constexpr bool types = requires {
    typename D::staging;
    typename D::stream;
    typename D::event;
  };
  // guard-begin: device_types
  static_assert(types, "penstock: this device lacks one of the types `staging`, `stream`, `event`");
  // guard-end: device_types
  if constexpr (types) {
    using S = typename D::stream;
    using E = typename D::event;
    // guard-begin: device_stage
    static_assert(
        requires(D& d) {
          { d.stage(bytes{}) } -> std::same_as<result<typename D::staging>>;
        },
        "penstock: this device lacks `result<staging> stage(bytes)`: memory that copies may read while the host goes on");
    // guard-end: device_stage
    // guard-begin: device_open_stream
    static_assert(
        requires(D& d) {
          { d.open_stream() } -> std::same_as<result<S>>;
        }, "penstock: this device lacks `result<stream> open_stream()`");
    // guard-end: device_open_stream
    // guard-begin: device_reaches
    static_assert(
        requires(D& d, std::byte const* p) {
          { d.reaches(p) } -> std::convertible_to<bool>;
        }, "penstock: this device lacks `bool reaches(std::byte const*)`: may the host write there itself?");
    // guard-end: device_reaches
    // guard-begin: device_bind
    static_assert(
        requires(D& d) {
          { d.bind() } -> std::same_as<result<void>>;
        }, "penstock: this device lacks `result<void> bind()`: called once in each thread");
    // guard-end: device_bind
    // guard-begin: device_writes
    static_assert(
        requires {
          { D::template writes<host_memory> } -> std::convertible_to<bool>;
        },
        "penstock: this device lacks `template <memory M> static constexpr bool writes`: which owned tensors can it fill?");
    // guard-end: device_writes
    // guard-begin: stream_copy
    static_assert(
        requires(S& s, std::span<copy_op const> c) {
          { s.copy(c) } -> std::same_as<result<void>>;
        },
        "penstock: this device's stream lacks `result<void> copy(std::span<copy_op const>)`: all copies of one slot");
    // guard-end: stream_copy
    // guard-begin: stream_mark
    static_assert(
        requires(S& s, E& e) {
          { s.mark(e) } -> std::same_as<result<void>>;
        },
        "penstock: this device's stream lacks `result<void> mark(event&)`: without it a slot would be refilled under a copy");
    // guard-end: stream_mark
    // guard-begin: device_event
    static_assert(
        requires(E& e) {
          { e.done() } -> std::same_as<result<bool>>;
          { e.wait() } -> std::same_as<result<void>>;
        }, "penstock: this device's event lacks `result<bool> done()` or `result<void> wait()`");
    // guard-end: device_event
    return device_backend<D>;
  }
  return false;
}
}  // namespace detail
PENSTOCK_END
