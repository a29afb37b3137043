#pragma once
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <exception>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include <penstock/pipeline/detail/direct.hpp>
#include <penstock/pipeline/detail/load_state.hpp>
#include <penstock/pipeline/detail/poison.hpp>
#include <penstock/pipeline/detail/slot.hpp>
#include <penstock/pipeline/report.hpp>

PENSTOCK_BEGIN
namespace detail {
/// What a lane waits for after a step: nothing, a completion of its storage, an event of its device, news of other lanes.
enum class need : u8 { again, io, event, news, end };

/// Seconds since it was last asked.
class stopwatch {
 public:
  double lap() {
    auto const now = std::chrono::steady_clock::now();
    return std::chrono::duration<double>(now - std::exchange(last_, now)).count();
  }
  [[nodiscard]] std::chrono::steady_clock::time_point last() const noexcept { return last_; }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

inline double thread_cpu_seconds() {
  timespec t{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

/// What one lane did.
struct lane_tally {
  stage_times stages;
  bytes read, direct, declined;
  u64 requests = 0, retries = 0;
  double cpu = 0;
};

/// One thread's part of a load: a queue of reads, its own slots, one stream. It admits, reads, lands and retires.
///
/// `step` never blocks and says what it needs; `turn` blocks on that. So a test can drive every interleaving.
/// @threads one, from the first step on; nothing of it is shared but the load's state
template <class Storage, class Device, class Sink, class Trace = no_trace>
class lane {
 public:
  using state = load_state<Storage, Device, Sink, Trace>;
  using stream_type = typename Device::stream;

  lane(state& load, Device& device, typename Storage::lane& io, stream_type stream, u32 number)
      : load_(load),
        device_(device),
        io_(io),
        stream_(std::move(stream)),
        slots_(load.plan.memory.slots),
        arrivals_(load.plan.memory.slots),
        number_(number) {}

  /// Runs until the plan's end or the first failure; afterwards no read and no copy of this lane is under way.
  void run() noexcept {
    double const before = thread_cpu_seconds();
    load_.trace.begin(load_.plan, number_);
    (void)watch_.lap();
    PENSTOCK_TRY {
      for (need n = step(); n != need::end; n = step())
        if (n != need::again) turn(n, std::chrono::milliseconds(100));
    }
    PENSTOCK_CATCH_ALL {
      load_.board.fail({error_kind::cancelled, "a callback of the sink threw"}, std::current_exception());
    }
    quiet();
    tally_.cpu += thread_cpu_seconds() - before;
  }
  /// The same in a thread that the device does not know yet.
  void operator()() noexcept {
    if (auto bound = device_.bind(); !bound) load_.board.fail(std::move(bound.error()));
    run();
  }

  /// Does all that can be done without waiting.
  need step() {
    // First the epoch, then what others change, a failure included: what happens in between moves the epoch again.
    epoch_ = load_.board.epoch();
    PENSTOCK_POINT();
    if (load_.board.failed()) return need::end;
    bool moved = false;
    if (draining_) {
      moved |= retire();
      book(tally_.stages.drain.busy, activity::drain);
    }
    PENSTOCK_POINT();
    if (full_) {
      moved |= land_full();
      book(tally_.stages.land.busy, activity::land);
    }
    PENSTOCK_POINT();
    moved |= admit();
    book(tally_.stages.read.busy, activity::admit);
    if (filled_here_) return need::again;
    if (reading_) return need::io;
    if (moved) return need::again;
    if (draining_) return need::event;
    if (full_ || starved_) return need::news;
    return ended_ ? need::end : need::again;
  }

  /// Waits for what a step named, `most` for a storage.
  void turn(need n, std::chrono::microseconds most) {
    if (n == need::io) {
      if (draining_) most = std::min(most, std::chrono::microseconds(1000));  // a copy may end before the next read
      if (full_ || starved_) {  // something other than our own reads may help
        load_.board.set_bell(number_);
        PENSTOCK_POINT();
        if (load_.board.epoch() != epoch_) most = std::chrono::microseconds(0);
      }
      std::size_t const n_arrived = io_.wait(arrivals_, most);
      book(tally_.stages.read.busy, activity::io);
      for (std::size_t i = 0; i < n_arrived; ++i) arrived(arrivals_[i]);
      book(tally_.stages.land.busy, activity::land);
    } else if (n == need::event) {
      if (auto done = oldest_draining().done.wait(); !done) fail(std::move(done.error()));
      book(tally_.stages.drain.waiting, activity::event);
    } else if (n == need::news) {
      PENSTOCK_POINT();
      load_.board.sleep(epoch_);
      book(tally_.stages.read.waiting, activity::news);
    }
  }

  /// The only way out of a lane, whatever happened: first the writers of its slots, then their readers.
  void quiet() noexcept {
    io_.cancel();
    reading_ = 0;
    if (touched_ && !synchronous) {
      if (stream_.mark(last_)) (void)last_.wait();
      else  // the device is gone: what can be asked for is asked for
        for (auto& s : slots_)
          if (s.state == slot_state::draining) (void)s.done.wait();
    }
    for (auto& s : slots_)
      if (s.state != slot_state::free) become(s, slot_state::free);
    if (memory_) unpoison(memory_->data(), ring());  // the allocator may reuse these addresses
  }

  [[nodiscard]] lane_tally const& tally() const noexcept { return tally_; }

 private:
  friend struct lane_view;  // tests look inside
  using slot_type = slot<Device>;
  using what = plan_copy::what;
  static constexpr bool synchronous = requires { requires bool{Device::synchronous}; };
  static constexpr bool borrows = state::borrows;

  /// Books the time since the last booking, in the tally and in the trace alike.
  void book(double& seconds, activity a) {
    auto const from = watch_.last();
    seconds += watch_.lap();
    load_.trace.spent(a, from, watch_.last());
  }
  void become(slot_type& s, slot_state now, u32 retries = 0) noexcept {
    s.state = now;
    load_.trace.slot(static_cast<u32>(&s - slots_.data()), now, s.read, retries);
  }
  void fail(error e) { load_.board.fail(std::move(e)); }
  bytes stride() const noexcept { return load_.plan.memory.stride(); }
  bytes ring() const noexcept { return u64{load_.plan.memory.slots} * stride(); }
  std::span<plan_copy const> copies_of(slot_type const& s) const {
    auto const& r = load_.plan.reads[s.read];
    return std::span<plan_copy const>(load_.plan.copies).subspan(r.copies, r.copies_end - r.copies);
  }
  bool has(slot_type const& s, u8 trait) const { return load_.ready.traits[s.read] & trait; }
  slot_type* free_slot() {
    auto const s = std::find_if(slots_.begin(), slots_.end(), [](auto& x) { return x.state == slot_state::free; });
    return s == slots_.end() ? nullptr : &*s;
  }
  slot_type& oldest_draining() {
    slot_type* oldest = nullptr;
    for (auto& s : slots_)
      if (s.state == slot_state::draining && (!oldest || s.order < oldest->order)) oldest = &s;
    return *oldest;
  }

  // ---- admit and read

  /// Takes reads in plan order while there are slots and the storage wants more. @returns whether it took any
  bool admit() {
    bool moved = false;
    ended_ = starved_ = filled_here_ = false;
    while (!ended_ && !starved_ && reading_ < std::max(1u, static_cast<unsigned>(io_.depth()))) {
      auto* const s = free_slot();
      if (!s) break;
      auto const read = load_.admit();
      if (!read) return fail(std::move(read.error())), true;
      ended_ = *read == admission::at_the_end;
      starved_ = *read == admission::no_room;
      if (ended_ || starved_) break;
      if (!fill(*s, *read)) return true;
      moved = true;
    }
    return moved;
  }
  /// @returns false after a failure
  bool fill(slot_type& s, u32 read) {
    auto const& r = load_.plan.reads[read];
    s.read = read;
    s.direct = false;
    if constexpr (!borrows) s.direct = direct_.lay_out(load_.plan, r, load_.places, load_.options.direct_above, s.to);
    if (!s.direct) {
      if (!memory_ && !stage()) return false;
      unpoison(s.at, bytes{r.size});
      s.to.assign(1, {s.at, r.size});
    }
    s.order = ++filled_;
    if (r.object == no_object) {
      for (auto const& zeros : s.to)
        if (zeros.bytes) std::memset(zeros.to, 0, zeros.bytes);
      filled_here_ = true;
      become(s, slot_state::filling);
      take_full(s, 0);
      return true;
    }
    become(s, slot_state::filling);
    ++reading_, ++tally_.requests;
    tally_.read += bytes{r.size};
    if (s.direct) tally_.direct += bytes{r.size};
    u32 const tag = static_cast<u32>(&s - slots_.data());
    io_.submit({&load_.objects[index_of(r.object)], {bytes{r.first}, bytes{r.size}}, s.to, tag});
    return true;
  }
  /// Gets the slots, when the first read needs one. @returns false after a failure
  bool stage() {
    auto memory = device_.stage(ring());
    if (!memory) return fail(std::move(memory.error())), false;
    memory_.emplace(std::move(*memory));
    load_.staged.fetch_add(ring().count);
    for (std::size_t i = 0; i < slots_.size(); ++i) slots_[i].at = memory_->data() + i * stride().count;
    poison_fresh(memory_->data(), ring());
    return true;
  }

  // ---- land

  void arrived(completion& c) {
    --reading_;
    tally_.retries += c.retries;
    auto& s = slots_[c.tag];
    if (!c.failed) return take_full(s, c.retries);
    auto& where = c.failed->where();
    auto const& r = load_.plan.reads[s.read];
    if (where.uri.empty()) where.uri = load_.plan.uri + "/" + load_.plan.objects[index_of(r.object)];
    if (!where.range) where.range = byte_range{bytes{r.first}, bytes{r.size}};
    fail(std::move(*c.failed));
    c.failed.reset();
  }
  /// The bytes are there. What is kept is taken out at once, before anything in this slot can wait.
  void take_full(slot_type& s, u32 retries) {
    become(s, slot_state::full, retries), ++full_;
    if (!has(s, prepared::has_keeps)) return;
    for (auto const& c : copies_of(s)) {
      if (c.kind != what::keep) continue;
      std::byte* const kept = load_.reads.kept(c.kept_in());
      for (u32 row = 0; row < c.rows; ++row) std::memcpy(kept + c.at_row(row), s.at + c.from_row(row), c.width);
      if (load_.keeps.take(c.to)) load_.board.news();
    }
  }
  /// Is all there that the slot's steps need?
  bool can_land(slot_type const& s) const {
    if (!has(s, prepared::has_steps)) return true;
    for (auto const& c : copies_of(s))
      if (c.kind == what::step && load_.keeps.left(index_of(c.group))) return false;
    return true;
  }
  bool land_full() {
    bool moved = false;
    for (auto& s : slots_)
      if (s.state == slot_state::full && can_land(s)) land(s), moved = true;
    return moved;
  }
  void land(slot_type& s) {
    touched_ = true;
    if (!s.direct) land_pieces(s);
    become(s, slot_state::draining), --full_, ++draining_;
    if (!ops_.empty()) {
      timed<Trace> const copying(load_.trace, activity::copy);
      auto const copied = stream_.copy(ops_);
      ops_.clear();
      if (!copied) return fail(copied.error());
    }
    if (s.direct || synchronous) return retire(s);
    if (auto marked = stream_.mark(s.done); !marked) fail(std::move(marked.error()));
  }
  void land_pieces(slot_type& s) {
    for (auto const& c : copies_of(s)) {
      if (c.kind == what::keep) continue;
      bool const wanted = !load_.declined(c.to);
      if (c.kind == what::step) step_over(s, c, wanted);
      if (!wanted) continue;
      if constexpr (borrows) lend(s, c);
      else load_.places.append(ops_, c, s.at + c.from);
    }
  }
  /// Runs a step in place. One that nobody wants counts as well: its group has to close.
  void step_over(slot_type& s, plan_copy const& c, bool wanted) {
    auto const& g = load_.plan.groups[index_of(c.group)];
    if (wanted)
      for (u32 row = 0; row < c.rows; ++row)
        g.run(load_.reads.kept(c.group), s.at + c.from + u64{row} * c.from_pitch, c.width, c);
    if (!load_.steps.take(index_of(c.group))) return;
    load_.reads.close(c.group);
    load_.board.news();
  }
  void lend(slot_type& s, plan_copy const& c) {
    lease<stream_type> held(stream_);
    landed_piece const piece{c.where(), bytes{c.from_pitch}};
    bytes const extent{u64{c.rows - 1} * c.from_pitch + c.width};
    loans_.lend(s.at + c.from, extent, [&](borrowed_tensor const& loan) {
      load_.call([&] { load_.sink.piece(load_.plan.parameters[c.to], piece, loan, held); });
    });
  }

  // ---- retire

  bool retire() {
    bool moved = false;
    for (auto& s : slots_) {
      if (s.state != slot_state::draining) continue;
      auto const done = s.done.done();
      if (!done) return fail(done.error()), true;
      if (*done) retire(s), moved = true;
    }
    return moved;
  }
  /// The copies out of the slot are done: now, and only now, are parameters complete and may the slot be refilled.
  void retire(slot_type& s) {
    auto const& r = load_.plan.reads[s.read];
    auto const copies = copies_of(s);  // the slot may be another read's as soon as it is free
    if (!s.direct) poison(s.at, bytes{r.size});
    become(s, slot_state::free), --draining_;
    u32 run = 0, of = 0;  // neighbouring copies into one parameter are one decrement
    for (auto const& c : copies) {
      if (c.kind == what::keep) continue;
      if (load_.declined(c.to)) {
        if (r.object != no_object) tally_.declined += c.where().size();
        continue;
      }
      if (run && c.to != of) load_.landed(of, std::exchange(run, 0));
      of = c.to, ++run;
    }
    if (run) load_.landed(of, run);
    if (r.object != no_object) load_.meter.add(r.size);
  }

  state& load_;
  Device& device_;
  typename Storage::lane& io_;
  std::optional<typename Device::staging> memory_{};  // before what may still look at it
  stream_type stream_;
  typename Device::event last_{};
  std::vector<slot_type> slots_;
  std::vector<completion> arrivals_;
  std::vector<copy_op> ops_{};  // of the slot that lands
  direct_layout direct_{};
  std::conditional_t<borrows, loans, std::monostate> loans_{};
  lane_tally tally_{};
  stopwatch watch_{};
  u32 number_, epoch_ = 0, reading_ = 0, full_ = 0, draining_ = 0;
  u64 filled_ = 0;
  bool ended_ = false, starved_ = false, filled_here_ = false, touched_ = false;
};
}  // namespace detail
PENSTOCK_END
