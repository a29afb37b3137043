#pragma once
#include <concepts>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include <penstock/core/read.hpp>
#include <penstock/core/result.hpp>
#include <penstock/core/uri.hpp>

PENSTOCK_BEGIN
/// One object below a root, as a listing shows it.
struct stored_object {
  std::string name;  ///< relative to the root, segments divided by `/`
  bytes size;
};

/// What the planner and the executor should know of a store. A backend without `traits()` has these defaults.
struct storage_traits {
  bytes gap = kibibytes(4);  ///< what passes in the time that a request costs: two reads closer are cheaper as one
  bytes bandwidth = gibibytes(4);  ///< of one read under way, a second
  unsigned lanes = 4;              ///< threads that read at once
  unsigned depth = 1;              ///< reads that one lane keeps outstanding
  bytes transport_per_read{};      ///< buffers of the transport for each outstanding read
};

/// One pinned object: what it was when first seen. A lane reads that version or fails with `changed`.
///
///   size()      bytes
///   version()   text that differs when the bytes differ: an ETag; size, time and inode of a file
template <class O>
concept pinned_object = std::movable<O> && requires(O const& o) {
  { o.size() } -> std::same_as<bytes>;
  { o.version() } -> std::convertible_to<std::string>;
};

/// A queue of reads, driven by one thread: the executor's. A storage starts no thread.
///
///   unsigned depth()                 how many reads it wants outstanding now; asked before each, so it may adapt
///   void submit(read_request)        begins a read, never blocks; an error comes back as a completion
///   size_t wait(out, most)           fills `out`; returns at the first completions, after `most`, or when woken
///   void wake()                      any thread; makes the present or the next `wait` return (sticky)
///   void cancel()                    on return nothing is outstanding and no byte will be written any more
///   bytes transport_bytes()          memory of its own at this depth: counted in the budget
///
/// Semantics the compiler cannot check: a completion without error means exactly the bytes asked for, of the pinned
/// version; retries and renewed credentials live inside; zero bytes may be asked for and complete.
/// @threads  one, but `wake` from any
template <class L, class Object>
concept read_lane =
    requires(L& l, read_request<Object> const& r, std::span<completion> out, std::chrono::microseconds most) {
      { l.depth() } -> std::convertible_to<unsigned>;
      { l.submit(r) } -> std::same_as<void>;
      { l.wait(out, most) } -> std::convertible_to<std::size_t>;
      { l.wake() } noexcept;
      { l.cancel() } noexcept;
      { l.transport_bytes() } -> std::same_as<bytes>;
    };

/// A store of objects below root URIs.
///
///   object, lane                     the two types above
///   pin(root, names)                 sees each of the objects once, in that order; not_found names all that are missing
///   list(root)                       every object below `root/`, in any order, directories excluded
///   pin(root, names, stop), list(root, stop)
///                                    optional, of stores that wait for a network: a request on the `std::stop_token` ends
///                                    the call within 100 ms, with `cancelled`
///   open_lane(objects, i, depth)     a queue for thread `i`, with at most `depth` reads outstanding, for these objects;
///                                    here names are resolved, so that a load only connects
///   traits()                         optional
///   directory_of(root)               optional: `result<std::optional<std::string>>`, the folder that a root is; where there is
///                                    one, a model's config and tokenizer files are used in place
///   takes(uri), schemes              optional, static: to be one of storage::any_of
///
/// @threads  pin and list: one at a time; open_lane: from several threads at once (ranks); a lane: one thread
template <class S>
concept storage_backend =
    requires(S& s, uri const& root, std::span<std::string const> names, std::span<typename S::object const> objects) {
      requires pinned_object<typename S::object>;
      requires read_lane<typename S::lane, typename S::object>;
      { s.pin(root, names) } -> std::same_as<result<std::vector<typename S::object>>>;
      { s.list(root) } -> std::same_as<result<std::vector<stored_object>>>;
      { s.open_lane(objects, 0u, 1u) } -> std::same_as<result<std::unique_ptr<typename S::lane>>>;
    };

/// The traits of a backend, or the defaults.
template <class S>
storage_traits traits_of(S const& s) {
  if constexpr (requires {
                  { s.traits() } -> std::same_as<storage_traits>;
                })
    return s.traits();
  else return {};
}

/// Pins objects; the store hears of a stop request where it takes one.
template <class S>
auto pin_objects(S& s, uri const& root, std::span<std::string const> names, std::stop_token const& stop) {
  if constexpr (requires { s.pin(root, names, stop); }) return s.pin(root, names, stop);
  else return s.pin(root, names);
}
/// Lists objects; the store hears of a stop request where it takes one.
template <class S>
auto list_objects(S& s, uri const& root, std::stop_token const& stop) {
  if constexpr (requires { s.list(root, stop); }) return s.list(root, stop);
  else return s.list(root);
}

namespace detail {
/// One sentence for each thing that a backend can lack, in the order in which one writes it.
template <class S>
constexpr bool check_storage() {
  constexpr bool object = requires { typename S::object; };
  constexpr bool lane = requires { typename S::lane; };
  // guard-begin: storage_object
  static_assert(object, "penstock: this storage lacks the type `object`: one pinned object (size, version)");
  // guard-end: storage_object
  // guard-begin: storage_lane
  static_assert(lane, "penstock: this storage lacks the type `lane`: a queue of reads driven by one thread");
  // guard-end: storage_lane
  if constexpr (object && lane) {
    using L = typename S::lane;
    using O = typename S::object;
    // guard-begin: storage_object_is_pinned
    static_assert(
        pinned_object<O>,
        "penstock: this storage's object must be movable, with `bytes size() const` and `std::string version() const`");
    // guard-end: storage_object_is_pinned
    // guard-begin: storage_pin
    static_assert(
        requires(S& s, uri const& u, std::span<std::string const> n) {
          { s.pin(u, n) } -> std::same_as<result<std::vector<O>>>;
        }, "penstock: this storage lacks `result<std::vector<object>> pin(uri const&, std::span<std::string const>)`");
    // guard-end: storage_pin
    // guard-begin: storage_list
    static_assert(
        requires(S& s, uri const& u) {
          { s.list(u) } -> std::same_as<result<std::vector<stored_object>>>;
        }, "penstock: this storage lacks `result<std::vector<stored_object>> list(uri const&)`");
    // guard-end: storage_list
    // guard-begin: storage_open_lane
    static_assert(
        requires(S& s, std::span<O const> o) {
          { s.open_lane(o, 0u, 1u) } -> std::same_as<result<std::unique_ptr<L>>>;
        },
        "penstock: this storage lacks `result<std::unique_ptr<lane>> open_lane(std::span<object const>, unsigned index, unsigned depth)`");
    // guard-end: storage_open_lane
    // guard-begin: lane_depth
    static_assert(
        requires(L& l) {
          { l.depth() } -> std::convertible_to<unsigned>;
        }, "penstock: this storage's lane lacks `unsigned depth()`: how many reads it wants outstanding");
    // guard-end: lane_depth
    // guard-begin: lane_submit
    static_assert(
        requires(L& l, read_request<O> const& r) {
          { l.submit(r) } -> std::same_as<void>;
        }, "penstock: this storage's lane lacks `void submit(read_request<object> const&)`: begin a read, never block");
    // guard-end: lane_submit
    // guard-begin: lane_wait
    static_assert(
        requires(L& l, std::span<completion> o, std::chrono::microseconds m) {
          { l.wait(o, m) } -> std::convertible_to<std::size_t>;
        }, "penstock: this storage's lane lacks `size_t wait(std::span<completion>, std::chrono::microseconds)`");
    // guard-end: lane_wait
    // guard-begin: lane_wake
    static_assert(
        requires(L& l) {
          { l.wake() } noexcept;
        },
        "penstock: this storage's lane lacks `void wake() noexcept`: end a `wait` from another thread (without it a load cannot be cancelled)");
    // guard-end: lane_wake
    // guard-begin: lane_cancel
    static_assert(
        requires(L& l) {
          { l.cancel() } noexcept;
        },
        "penstock: this storage's lane lacks `void cancel() noexcept`: after it no byte may be written (without it memory is freed under a read)");
    // guard-end: lane_cancel
    // guard-begin: lane_transport_bytes
    static_assert(
        requires(L& l) {
          { l.transport_bytes() } -> std::same_as<bytes>;
        }, "penstock: this storage's lane lacks `bytes transport_bytes()`: its own buffers count in the budget");
    // guard-end: lane_transport_bytes
    return storage_backend<S>;
  }
  return false;
}
}  // namespace detail
PENSTOCK_END
