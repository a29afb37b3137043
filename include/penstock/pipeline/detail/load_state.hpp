#pragma once
#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <utility>

#include <penstock/pipeline/detail/admission.hpp>
#include <penstock/pipeline/detail/derive.hpp>
#include <penstock/pipeline/detail/destinations.hpp>
#include <penstock/pipeline/detail/news_board.hpp>
#include <penstock/pipeline/detail/progress_meter.hpp>
#include <penstock/pipeline/load_options.hpp>
#include <penstock/pipeline/readiness.hpp>
#include <penstock/pipeline/trace.hpp>

PENSTOCK_BEGIN
namespace detail {
/// Counts down from many threads. Whoever takes a count to zero sees what all others did before they took theirs.
class countdown {
 public:
  explicit countdown(std::size_t n) : left_(new std::atomic<u32>[n]) {}
  void begin(std::size_t i, u32 n) { left_[i].store(n, std::memory_order_relaxed); }
  /// @returns whether it is zero now
  bool take(std::size_t i, u32 n = 1) { return left_[i].fetch_sub(n, std::memory_order_acq_rel) == n; }
  [[nodiscard]] u32 left(std::size_t i) const { return left_[i].load(std::memory_order_acquire); }

 private:
  std::unique_ptr<std::atomic<u32>[]> left_;
};

/// All that the lanes of one load share: constant while they run, atomic, or under a mutex of its part.
template <class Storage, class Device, class Sink, class Trace = no_trace>
class load_state {
 public:
  static constexpr bool borrows = borrowing_sink<Sink, typename Device::stream>;

  load_state(penstock::plan const& p, prepared const& pre, std::span<typename Storage::object const> pinned,
             Device& device, Sink& to, load_options const& o, u32 lanes, bytes room, Trace const& t = {})
      : plan(p),
        ready(pre),
        objects(pinned),
        sink(to),
        options(o),
        trace(t),
        board(lanes),
        reads(p, pre, room),
        places(borrows ? 0 : p.parameters.size()),
        keeps(p.groups.size()),
        steps(p.groups.size()),
        meter(o.watch, pre.read),
        device_(device),
        pieces_(p.parameters.size()),
        layers_(p.layers),
        sources_(p.derivations.size()),
        derives_(p.derivations.empty() ? 0 : p.parameters.size(), no_derivation) {
    for (std::size_t i = 0; i < p.parameters.size(); ++i) pieces_.begin(i, pre.pieces[i]);
    for (std::size_t i = 0; i < p.layers; ++i) layers_.begin(i, pre.layer_parameters[i]);
    for (std::size_t i = 0; i < p.groups.size(); ++i) keeps.begin(i, p.groups[i].keeps);
    for (std::size_t i = 0; i < p.groups.size(); ++i) steps.begin(i, p.groups[i].steps);
  }

  /// Before the first lane runs: asks for destinations, and announces what is complete from the start. @errors those of the sink
  result<void> begin() {
    if constexpr (placing_sink<Sink>)
      for (auto const& p : plan.parameters) {
        if (auto r = bind(p, sink.destination(p)); !r) return r;
        if (!places.bound(index_of(p.id)) && !p.derived) decline(p);
      }
    if (auto r = begin_derivations(); !r) return r;
    if constexpr (allocating_sink<Sink>)
      for (auto const& p : plan.parameters)
        if (!p.pieces && !p.derived)
          if (auto r = allocate(p); !r) return r;
    for (u32 i = 0; i < plan.layers; ++i)
      if (options.ready && !layers_.left(i)) readiness_writer::layer(*options.ready, layer_id{i});
    meter.begin();
    for (u32 i = 0; i < plan.parameters.size(); ++i)
      if (!ready.pieces[i] && !plan.parameters[i].derived && !declined(i)) arrived(i);
    return {};
  }

  /// The next read for a lane: see `admission::next`.
  result<u32> admit() {
    return reads.next([this](u32 read) { return bind_read(read); });
  }

  [[nodiscard]] bool declined(u32 parameter) const noexcept { return !borrows && !places.bound(parameter); }

  /// Calls the sink, one at a time unless it asked for more.
  template <class F>
  void call(F&& f) {
    timed<Trace> const calling(trace, activity::callback);
    if (!options.serial_sink) return f();
    std::lock_guard const lock(sink_m_);
    f();
  }
  /// The events of `n` more copies into the parameter are done.
  void landed(u32 parameter, u32 n) {
    if (pieces_.take(parameter, n)) arrived(parameter);
  }
  [[nodiscard]] u64 announced() const noexcept { return announced_.load(); }

  penstock::plan const& plan;
  prepared const& ready;
  std::span<typename Storage::object const> const objects;
  Sink& sink;
  load_options const& options;
  [[no_unique_address]] Trace const trace;
  news_board board;
  admission reads;
  destinations places;
  countdown keeps, steps;  ///< of each group: copies to come
  progress_meter meter;
  std::atomic<u64> staged{0};  ///< bytes of slots that lanes needed

 private:
  static constexpr u32 no_derivation = ~u32{};

  void decline(parameter const& p) {
    (void)layers_.take(index_of(p.layer));
    if (options.ready) readiness_writer::declined(*options.ready, p.id);
  }
  /// What is made of what: known before the first byte. A result is declined where its source is, and where nothing is
  /// kept to make it of. @errors usage: a source or result where the host cannot work
  result<void> begin_derivations() {
    for (u32 i = 0; i < plan.derivations.size(); ++i) {
      auto const& d = plan.derivations[i];
      auto const refused = [&](param_id p) { return placing_sink<Sink> && !places.bound(index_of(p)); };
      bool const can_be_made = !borrows && std::none_of(d.sources.begin(), d.sources.end(), refused);
      std::vector<param_id> touched;  // by the step
      for (auto const& r : d.results)
        if (can_be_made && !refused(r.to)) touched.push_back(r.to);
        else decline(plan.parameters[index_of(r.to)]);
      if (touched.empty()) continue;
      touched.insert(touched.end(), d.sources.begin(), d.sources.end());
      if constexpr (placing_sink<Sink>)
        for (auto const p : touched)
          if (auto ok = on_host(index_of(p)); !ok) return ok;
      sources_.begin(i, static_cast<u32>(d.sources.size()));
      for (auto const s : d.sources) derives_[index_of(s)] = i;
    }
    return {};
  }
  result<void> on_host(u32 parameter) const {
    if (places.reached(parameter)) return {};
    auto const& name = plan.parameters[parameter].name;
    error e{error_kind::usage, "expected memory that the host can write for parameter " + name +
                                   ", which is derived or derived from, found another; decline the derived parameter "
                                   "(destination returns null) and make it on the device"};
    e.where().tensor = name;
    return e;
  }
  /// All bytes of a parameter are there. One that others are made of is announced with them, after they were made.
  void arrived(u32 parameter) {
    u32 const i = derives_.empty() ? no_derivation : derives_[parameter];
    if (i == no_derivation) return complete(parameter);
    if (!sources_.take(i)) return;
    auto const& d = plan.derivations[i];
    for (auto const& r : d.results)
      if (places.bound(index_of(r.to))) derive_step{plan, places, d, r}.run();
    for (auto const s : d.sources) complete(index_of(s));
    for (auto const& r : d.results)
      if (places.bound(index_of(r.to))) complete(index_of(r.to));
  }
  result<void> bind(parameter const& p, placement const& to) {
    if (to.at && !writes_space<Device>(to.space)) {
      error e{error_kind::usage, "expected a place that the device can write for parameter " + p.name +
                                     ", found one in another memory space; load with a device of that space"};
      e.where().tensor = p.name;
      return e;
    }
    return places.bind(p, to, to.at && to.space == memory_space::host && device_.reaches(to.at));
  }
  result<void> allocate(parameter const& p) {
    auto to = sink.allocate(p);
    if (!to) return std::move(to.error());
    if (!to->at)
      return error{error_kind::usage,
                   "expected memory for parameter " + p.name + " from the sink's allocate, found null"};
    if (auto r = bind(p, *to); !r) return r;
    bool const source = !derives_.empty() && derives_[index_of(p.id)] != no_derivation;
    if (source || p.derived)
      if (auto r = on_host(index_of(p.id)); !r) return r;
    if (!source) return {};
    for (auto const& r : plan.derivations[derives_[index_of(p.id)]].results)
      if (!places.bound(index_of(r.to)))
        if (auto made = allocate(plan.parameters[index_of(r.to)]); !made) return made;
    return {};
  }
  /// A sink that allocates is asked for what a read is the first to feed.
  result<void> bind_read([[maybe_unused]] u32 read) {
    if constexpr (allocating_sink<Sink>) {
      auto const& r = plan.reads[read];
      for (u32 c = r.copies; c < r.copies_end; ++c)
        if (auto const& copy = plan.copies[c]; copy.kind != plan_copy::what::keep && !places.bound(copy.to))
          if (auto bound = allocate(plan.parameters[copy.to]); !bound) return bound;
    }
    return {};
  }
  void complete(u32 parameter) {
    announced_.fetch_add(1, std::memory_order_relaxed);
    if constexpr (hears_ready<Sink>) call([&] { sink.ready(plan.parameters[parameter]); });
    if (options.ready) readiness_writer::parameter(*options.ready, param_id{parameter});
    u32 const layer = ready.layer_of[parameter];
    if (!layers_.take(layer)) return;
    if constexpr (hears_layer_ready<Sink>) call([&] { sink.layer_ready(layer_id{layer}); });
    if (options.ready) readiness_writer::layer(*options.ready, layer_id{layer});
  }

  Device& device_;
  countdown pieces_, layers_;
  countdown sources_;         ///< of each derivation: parts to come
  std::vector<u32> derives_;  ///< of each parameter: the derivation that it is a source of
  std::mutex sink_m_;
  std::atomic<u64> announced_{0};
};
}  // namespace detail
PENSTOCK_END
