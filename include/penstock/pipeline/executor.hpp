#pragma once
#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <penstock/exchange/independent.hpp>
#include <penstock/pipeline/detail/lane.hpp>
#include <penstock/pipeline/detail/threads.hpp>
#include <penstock/pipeline/load_options.hpp>
#include <penstock/pipeline/own.hpp>
#include <penstock/pipeline/readiness.hpp>
#include <penstock/pipeline/report.hpp>
#include <penstock/pipeline/sink.hpp>
#include <penstock/pipeline/trace.hpp>
#include <penstock/storage/backend.hpp>

PENSTOCK_BEGIN
namespace detail {
/// Do the pinned objects have what the plan reads? @errors plan
template <class Object>
result<void> check_objects(plan const& p, std::span<Object const> objects) {
  if (objects.size() != p.objects.size())
    return error{error_kind::plan, "expected the plan's " + std::to_string(p.objects.size()) + " objects, found " +
                                       std::to_string(objects.size()) +
                                       "; load with the objects that it was made from"};
  std::vector<u64> sizes;
  for (auto const& o : objects) sizes.push_back(o.size().count);
  for (auto const& r : p.reads)
    if (u32 const o = index_of(r.object); r.object != no_object && (r.first > sizes[o] || r.size > sizes[o] - r.first))
      return error{error_kind::plan, "expected a read up to byte " + std::to_string(r.first + r.size) + " inside " +
                                         p.objects[o] + ", found that it has " + std::to_string(sizes[o]) + " bytes"};
  return {};
}

/// Is there a lane, and does everything fit into the memory limit before the first byte?
/// @returns room for kept bytes  @errors plan
inline result<bytes> check_memory(plan const& p, prepared const& pre, u32 lanes, bytes transport) {
  auto const& m = p.memory;
  auto const number = [](auto n) { return std::to_string(n); };
  if (!m.lanes || !m.slots || !m.depth)
    return error{error_kind::plan, "expected at least one lane, slot and read at once, found " + number(m.lanes) +
                                       ", " + number(m.slots) + " and " + number(m.depth)};
  if (pre.largest > m.slot.count)
    return error{error_kind::plan, "expected reads that fit a slot of " + number(m.slot.count) +
                                       " bytes, found one of " + number(pre.largest) + "; plan with that slot"};
  bytes const ring = u64{lanes} * (u64{m.slots} * m.stride());
  if (ring + transport + pre.kept_peak > m.limit)
    return error{error_kind::plan, "expected slots, transport buffers and kept tensors within the memory limit of " +
                                       number(m.limit.count) + " bytes, found " + number(ring.count) + " + " +
                                       number(transport.count) + " + " + number(pre.kept_peak.count) +
                                       "; raise the limit, or plan with fewer lanes or smaller slots"};
  return m.limit - ring - transport;
}

/// Tells a readiness how a load ended, also when an exception passes through.
class readiness_guard {
 public:
  explicit readiness_guard(readiness* to) : to_(to) {}
  readiness_guard(readiness_guard const&) = delete;
  readiness_guard& operator=(readiness_guard const&) = delete;
  ~readiness_guard() {
    if (to_) readiness_writer::failed(*to_, error_kind::cancelled, "a callback of the sink threw");
  }
  void ended(result<report> const& how) {
    if (to_ && !how) readiness_writer::failed(*to_, how.error().kind(), how.error().message());
    to_ = nullptr;
  }

 private:
  readiness* to_;
};
}  // namespace detail

/// Runs plans: reads what they say through bounded memory and hands it to a sink.
///
/// It knows a storage and a device; architecture, scheme and model ended at the plan. `plan.memory` says how many
/// threads and slots. The caller's thread is the first lane.
///
/// @tparam Storage   a storage_backend
/// @tparam Device    a device_backend
/// @tparam Exchange  an exchange_policy
/// @tparam Trace     a trace_policy
/// @threads one `load` at a time for each executor; callbacks come on its threads
template <class Storage, class Device, class Exchange = exchange::independent, class Trace = no_trace>
class executor {
  static constexpr bool fits =
      detail::check_storage<Storage>() && detail::check_device<Device>() && detail::check_trace<Trace>();
  // guard-begin: executor_fits
  static_assert(fits, "penstock: this storage, device and trace do not make an executor; the message above says why");
  // guard-end: executor_fits
  // guard-begin: exchange_is_a_policy
  static_assert(
      exchange_policy<Exchange>,
      "penstock: this exchange lacks `static constexpr bool needs_communicator`: exchange::independent has it");
  // guard-end: exchange_is_a_policy
  // guard-begin: exchange_has_its_communicator
  static_assert(
      !Exchange::needs_communicator,
      "penstock: this exchange needs a communicator and an executor has none to give: use exchange::independent");
  // guard-end: exchange_has_its_communicator

 public:
  /// Storage and device must outlive the executor.
  executor(Storage& storage, Device& device, Trace trace = {}) noexcept
      : storage_(storage), device_(device), trace_(std::move(trace)) {}

  /// Runs `p` once. After a failure the sink's parameters hold some of their bytes; nothing that failed was announced.
  ///
  /// @param objects  the plan's objects, pinned, in its order
  /// @param sink     see sink.hpp; a destination is asked for each parameter before the first read
  /// @errors plan: the plan contradicts itself, the objects or its memory limit, before anything is asked or read; usage: a
  ///         placement that cannot be; memory; cancelled; and what storage, device and sink report: the first wins
  /// @blocks until all has ended: no thread, read or copy is left, also when an exception of a callback passes through
  template <class Sink>
  result<report> load(plan const& p, std::span<typename Storage::object const> objects, Sink& sink,
                      load_options const& options = {}) {
    if constexpr (detail::check_sink<Sink, Device>()) {
      detail::readiness_guard waiters(options.ready);
      auto how = run(p, objects, sink, options);
      if (!how && options.rank) how.error().where().rank = static_cast<int>(*options.rank);
      waiters.ended(how);
      return how;
    } else {
      return error{error_kind::usage, "this sink does not fit"};
    }
  }

 private:
  template <class Sink>
  using lane = detail::lane<Storage, Device, Sink, Trace>;
  using io_lanes = std::vector<std::unique_ptr<typename Storage::lane>>;

  template <class Sink>
  result<report> run(plan const& p, std::span<typename Storage::object const> objects, Sink& sink,
                     load_options const& options) {
    detail::stopwatch watch;
    if (options.ready) {
      if (!detail::readiness_writer::fits(*options.ready, p))
        return error{error_kind::usage, "expected a readiness made from this plan, found one of another size"};
      options.ready->reset();
    }
    if (options.stop.stop_requested()) return stopped();
    auto const pre = detail::prepare(p);
    if (!pre) return pre.error();
    if (auto fit = detail::check_objects(p, objects); !fit) return std::move(fit.error());
    u32 const lanes = static_cast<u32>(std::min<u64>(p.memory.lanes, std::max<u64>(1, p.reads.size())));
    if (auto fit = detail::check_memory(p, *pre, lanes, bytes{}); !fit) return std::move(fit.error());
    if (auto bound = device_.bind(); !bound) return std::move(bound.error());

    // Destroyed from the last to the first: queues of reads, then lanes with their slots, then what all share.
    std::optional<detail::load_state<Storage, Device, Sink, Trace>> state;
    std::vector<std::unique_ptr<lane<Sink>>> workers;
    io_lanes io;
    bytes transport;
    for (u32 i = 0; i < lanes; ++i) {
      auto opened = storage_.open_lane(objects, i, p.memory.depth);
      if (!opened) return std::move(opened.error());
      transport += (*opened)->transport_bytes();
      io.push_back(std::move(*opened));
    }
    auto const room = detail::check_memory(p, *pre, lanes, transport);
    if (!room) return room.error();
    state.emplace(p, *pre, objects, device_, sink, options, lanes, *room, trace_);
    for (u32 i = 0; i < lanes; ++i) {
      auto stream = device_.open_stream();
      if (!stream) return std::move(stream.error());
      state->board.connect(i, *io[i]);
      workers.push_back(std::make_unique<lane<Sink>>(*state, device_, *io[i], std::move(*stream), i));
    }
    if (auto begun = state->begin(); !begun) return std::move(begun.error());
    drive(*state, workers, options.stop);

    if (state->board.failed()) {
      if (state->board.thrown()) std::rethrow_exception(state->board.thrown());
      return std::move(state->board.why());
    }
    return summary(p, *state, workers, transport, watch.lap());
  }

  static error stopped() {
    return error{error_kind::cancelled, "expected the load to run to its end, but it was stopped on request"};
  }

  /// Runs the lanes, the first in this thread. On return all are quiet and no stop callback runs.
  template <class State, class Workers>
  static void drive(State& state, Workers& workers, std::stop_token const& stop) {
    std::stop_callback const on_stop(stop, [&state] { state.board.fail(stopped()); });
    detail::thread_group threads(static_cast<u32>(workers.size()));
    for (std::size_t i = 1; i < workers.size(); ++i)
      if (int const failed = threads.start(*workers[i])) {
        state.board.fail({error_kind::memory, "expected to start thread " + std::to_string(i + 1) + " of " +
                                                  std::to_string(workers.size()) + ", but the system said no (error " +
                                                  std::to_string(failed) + "); use fewer lanes"});
        break;
      }
    workers[0]->run();
    threads.join();
  }

  template <class State, class Workers>
  static report summary(plan const& p, State const& state, Workers const& workers, bytes transport, double seconds) {
    report r;
    bytes declined, staged{state.staged.load()};
    for (auto const& w : workers) {
      auto const& t = w->tally();
      r.stages.read.busy += t.stages.read.busy, r.stages.read.waiting += t.stages.read.waiting;
      r.stages.land.busy += t.stages.land.busy, r.stages.land.waiting += t.stages.land.waiting;
      r.stages.drain.busy += t.stages.drain.busy, r.stages.drain.waiting += t.stages.drain.waiting;
      r.bytes_read += t.read, r.bytes_direct += t.direct, declined += t.declined;
      r.requests += t.requests, r.retries += t.retries, r.cpu_seconds += t.cpu;
    }
    r.seconds = seconds;
    r.bytes_needed = p.needed - std::min(p.needed, declined);
    r.bytes_discarded = r.bytes_read - std::min(r.bytes_read, r.bytes_needed);
    r.tensors = p.tensors;
    r.parameters = state.announced();
    r.peak_retained_bytes = state.reads.peak();
    r.peak_host_bytes = staged + transport + r.peak_retained_bytes;
    if constexpr (!requires { requires bool{Device::synchronous}; }) r.peak_device_staging_bytes = staged;
    r.limit = r.requests ? detail::judged_limit(r.stages) : "none";
    r.lanes = static_cast<u32>(workers.size());
    r.slots = p.memory.slots, r.slot_bytes = p.memory.slot, r.depth = p.memory.depth;
    return r;
  }

  Storage& storage_;
  Device& device_;
  [[no_unique_address]] Trace trace_;
};
PENSTOCK_END
