#pragma once
#include <chrono>
#include <concepts>
#include <type_traits>

#include <penstock/plan/plan.hpp>

PENSTOCK_BEGIN
/// What a lane spends its time on.
enum class activity : u8 {
  admit,     ///< takes reads and hands them to the storage
  io,        ///< waits inside the storage, which may be reading in this thread
  land,      ///< steps, copies and callbacks of what arrived
  copy,      ///< one copy call of the device; within `land`
  callback,  ///< of the sink, waiting for its turn included; within others
  drain,     ///< asks whether copies are done, and announces what is complete
  event,     ///< waits for a copy
  news,      ///< waits for other lanes: for kept bytes, or for room among them
};

/// free -> filling -> full -> draining -> free.
///
/// Its lane's thread owns a slot in every state. The bytes belong to nobody while free, to the storage while filling, to
/// the lane while full, and to the device, which only reads them, while draining.
enum class slot_state : u8 { free, filling, full, draining };

/// Hears what the lanes of a load do; a copy of it goes with each load. All calls come on lanes' threads, those of one
/// lane one after the other.
///
///   begin(plan const&, u32 lane)                 first, in each lane's thread; the plan outlives the load
///   spent(activity, time_point, time_point)      an activity that has ended; those of one lane are apart or nested
///   slot(u32 slot, slot_state, u32 read, u32 retries)
///                                                a slot of this lane changes; `read` indexes plan.reads, `retries` is what
///                                                the storage made good, told with `full`
template <class T>
concept trace_policy = std::copy_constructible<T> && requires(T const& t, plan const& p, u32 n, activity a,
                                                              slot_state s, std::chrono::steady_clock::time_point at) {
  { t.begin(p, n) } noexcept -> std::same_as<void>;
  { t.spent(a, at, at) } noexcept -> std::same_as<void>;
  { t.slot(n, s, n, n) } noexcept -> std::same_as<void>;
};

/// Hears nothing, and costs nothing.
struct no_trace {
  void begin(plan const&, u32) const noexcept {}
  void spent(activity, std::chrono::steady_clock::time_point, std::chrono::steady_clock::time_point) const noexcept {}
  void slot(u32, slot_state, u32, u32) const noexcept {}
};

namespace detail {
/// One sentence where `T` is no trace policy.
template <class T>
constexpr bool check_trace() {
  // guard-begin: trace_is_a_policy
  static_assert(trace_policy<T>,
                "penstock: this trace lacks one of `begin`, `spent`, `slot` (noexcept) of penstock::trace_policy");
  // guard-end: trace_is_a_policy
  return trace_policy<T>;
}

/// Tells a trace how long a scope took.
template <class Trace>
class timed {
 public:
  timed(Trace const& to, activity a) noexcept : to_(to), a_(a) {}
  timed(timed const&) = delete;
  timed& operator=(timed const&) = delete;
  ~timed() { to_.spent(a_, from_, std::chrono::steady_clock::now()); }

 private:
  Trace const& to_;
  activity a_;
  std::chrono::steady_clock::time_point from_ = std::chrono::steady_clock::now();
};
template <>
class timed<no_trace> {
 public:
  timed(no_trace const&, activity) noexcept {}
};
}  // namespace detail
PENSTOCK_END
