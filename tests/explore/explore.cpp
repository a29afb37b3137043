/// Every interleaving of the executor's real lanes.
///
/// The explorer decides which lane goes on, which read arrives or fails, which stream does its next copy, and when the
/// load is cancelled; inside a step or turn, at each PENSTOCK_POINT, a cancel or a whole step of the other lane may happen.
/// It visits every state once and ends with a finding and status 1, or with the number of states of each set-up.
#include <functional>

namespace {
/// What happens inside the step or turn that runs, and at which of its points.
struct interruption {
  std::function<void()> what;
  int points_to_go = -1;
  void point() {
    if (points_to_go < 0 || points_to_go-- > 0) return;
    auto const now = std::move(what);
    what = nullptr;
    now();
  }
} interruption;
}  // namespace
#define PENSTOCK_POINT() interruption.point()

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <unordered_set>
#include <utility>
#include <vector>

#include <penstock/device/host.hpp>
#include <penstock/pipeline/executor.hpp>

#include "../support/plan_builder.hpp"

PENSTOCK_BEGIN
namespace detail {
/// The explorer's look into a lane.
struct lane_view {
  template <class Lane>
  static bool wants_news(Lane const& l) {
    return l.full_ || l.starved_;
  }
  template <class Lane>
  static bool event_done(Lane& l) {
    return l.oldest_draining().done.state_now();
  }
  template <class Lane>
  static bool epoch_moved(Lane const& l) {
    return l.epoch_ != l.load_.board.epoch();
  }
  /// Calls `f` with every number that makes a difference.
  template <class Lane, class F>
  static void describe(Lane const& l, F&& f) {
    for (auto const& s : l.slots_) f(static_cast<u64>(s.state) * 2 + s.direct), f(s.read);
    f(l.reading_), f(l.full_), f(l.draining_), f(epoch_moved(l)), f(l.touched_), f(wants_news(l));
  }
};
}  // namespace detail
PENSTOCK_END

namespace {
using namespace penstock;
using detail::need;
using support::blob;

[[noreturn]] void found(char const* what) {
  std::printf("FOUND: %s\n", what);
  std::exit(1);
}

bool overlap(std::byte const* a, std::size_t a_size, std::byte const* b, std::size_t b_size) {
  return a < b + b_size && b < a + a_size;
}

constexpr u32 slot_size = 32, page = 4096, most_lanes = 2;

/// What storage and device have under way; each checks that the other leaves its bytes alone.
struct traffic {
  struct work {
    std::vector<copy_op> ops;
    std::shared_ptr<bool> mark;
  };
  std::deque<work> streams[most_lanes];
  std::vector<scatter> writes;

  void do_next(std::size_t stream) {
    auto const w = std::move(streams[stream].front());
    streams[stream].pop_front();
    for (auto const& op : w.ops)
      for (auto const& to : writes)
        if (overlap(op.from, op.width, to.to, to.bytes)) found("a copy reads a slot that is being filled");
    (void)device::host::stream{}.copy(w.ops);
    if (w.mark) *w.mark = true;
  }
  void begin_write(scatter const& to) {
    for (auto const& stream : streams)
      for (auto const& w : stream)
        for (auto const& op : w.ops)
          if (overlap(op.from, op.width, to.to, to.bytes)) found("a slot is refilled before its copy was done");
    writes.push_back(to);
  }
  void end_write(scatter const& to) {
    auto const at = std::find_if(writes.begin(), writes.end(), [&](auto& w) { return w.to == to.to && w.bytes == to.bytes; });
    if (at == writes.end()) found("a write ended that had not begun");
    writes.erase(at);
  }
};

/// A device whose next copy is done when the explorer says so.
struct scripted_device {
  struct staging {
    std::byte* at;
    std::size_t bytes;
    std::byte* data() const { return at; }
    std::size_t size() const { return bytes; }
  };
  struct event {
    std::shared_ptr<bool> state = std::make_shared<bool>(true);
    traffic* of = nullptr;
    std::size_t stream = 0;
    bool state_now() const { return *state; }
    result<bool> done() { return *state; }
    result<void> wait() {
      while (!*state) {
        if (of->streams[stream].empty()) found("an event that nothing will complete");
        of->do_next(stream);
      }
      return {};
    }
  };
  struct stream {
    traffic* of;
    std::size_t number;
    result<void> copy(std::span<copy_op const> ops) {
      of->streams[number].push_back({{ops.begin(), ops.end()}, {}});
      return {};
    }
    result<void> mark(event& e) {
      e = {std::make_shared<bool>(false), of, number};
      of->streams[number].push_back({{}, e.state});
      return {};
    }
  };
  template <memory M>
  static constexpr bool writes = M::space == memory_space::host;

  bool direct = false;
  std::size_t staged = 0;
  result<staging> stage(bytes n) {
    static blob memory(2 * most_lanes * 2 * page);
    auto* const begin = memory.data() + page - reinterpret_cast<std::uintptr_t>(memory.data()) % page;
    return staging{begin + std::exchange(staged, staged + n.count), n.count};
  }
  result<stream> open_stream() { return stream{nullptr, 0}; }
  bool reaches(std::byte const*) const { return direct; }
  result<void> bind() { return {}; }
};

/// A storage whose reads arrive or fail when the explorer says so.
struct scripted_storage {
  struct object {
    blob content;
    bytes size() const { return bytes{content.size()}; }
    std::string version() const { return "1"; }
  };
  struct lane {
    struct outstanding {
      read_request<object> request;
      bool here = false, bad = false;
    };
    traffic* of = nullptr;
    unsigned wanted = 1;
    std::vector<outstanding> queue{};
    bool woken = false, polled = false;

    unsigned depth() const { return wanted; }
    void submit(read_request<object> const& r) {
      for (auto const& to : r.to) of->begin_write(to);
      queue.push_back({r});
    }
    void arrive(std::size_t i, bool bad) {
      auto& o = queue[i];
      o.here = true, o.bad = bad;
      auto const* from = o.request.from->content.data() + o.request.range.first.count;
      if (!bad)
        for (auto const& to : o.request.to) std::memcpy(to.to, from, to.bytes), from += to.bytes;
    }
    std::size_t wait(std::span<completion> out, std::chrono::microseconds most) {
      woken = false;
      polled = most.count() == 0;
      std::size_t n = 0;
      for (std::size_t i = 0; i < queue.size();) {
        auto& o = queue[i];
        if (!o.here) {
          ++i;
          continue;
        }
        for (auto const& to : o.request.to) of->end_write(to);
        out[n++] = {o.request.tag, 0, o.bad ? std::make_unique<error>(error_kind::transient, "scripted") : nullptr};
        queue.erase(queue.begin() + static_cast<long>(i));
      }
      return n;
    }
    void wake() noexcept { woken = true; }
    void cancel() noexcept {
      for (auto const& o : queue)
        for (auto const& to : o.request.to) of->end_write(to);
      queue.clear();
    }
    bytes transport_bytes() const { return {}; }
  };
  result<std::vector<object>> pin(uri const&, std::span<std::string const>) { return std::vector<object>{}; }
  result<std::vector<stored_object>> list(uri const&) { return std::vector<stored_object>{}; }
  result<std::unique_ptr<lane>> open_lane(std::span<object const>, unsigned, unsigned) { return std::make_unique<lane>(); }
};
static_assert(storage_backend<scripted_storage> && device_backend<scripted_device>);

struct counting_sink {
  std::vector<blob> parameters;
  std::vector<int> announced;
  placement destination(parameter const& p) { return {.at = parameters[index_of(p.id)].data()}; }
  void ready(parameter const& p) { ++announced[index_of(p.id)]; }
};

struct set_up {
  char const* name;
  plan p;
  u32 lanes, slots, depth;
  u64 room;
  bool direct = false;
};

/// One run of a set-up, from the first step to the end, along the choices of `pick`.
class world {
 public:
  using state = detail::load_state<scripted_storage, scripted_device, counting_sink>;
  using lane = detail::lane<scripted_storage, scripted_device, counting_sink>;

  world(set_up const& u, std::vector<scripted_storage::object> const& objects)
      : u_(u), pre_(prepare(u.p)), sink_(sink_of(u.p)),
        state_(u.p, pre_, objects, device_, sink_, options_, u.lanes, bytes{u.room}) {
    device_.direct = u.direct;
    if (!state_.begin()) found("the load cannot begin");
    for (u32 i = 0; i < u.lanes; ++i) {
      actors_[i].io.of = &traffic_, actors_[i].io.wanted = u.depth;
      state_.board.connect(i, actors_[i].io);
      actors_[i].code = std::make_unique<lane>(state_, device_, actors_[i].io, scripted_device::stream{&traffic_, i}, i);
    }
  }

  /// @param pick  chooses one of `n` actions in the state with this hash, or -1: it was seen  @returns whether it ended
  template <class Pick>
  bool run(Pick&& pick) {
    while (!all_quiet()) {
      if (state_.reads.held().count > u_.room) found("more is kept than the budget allows");
      auto const actions = possible();
      if (actions.empty() || (actions.size() == 1 && actions[0].kind == act::cancel))
        found("deadlock: nothing can happen and the load is not over");
      int const choice = pick(static_cast<int>(actions.size()), hash());
      if (choice < 0) {
        for (u32 i = 0; i < u_.lanes; ++i) actors_[i].code->quiet();
        return false;
      }
      perform(actions[static_cast<std::size_t>(choice)]);
    }
    return true;
  }
  void check(std::vector<blob> const& want) {
    if (!traffic_.writes.empty()) found("the storage may still write");
    if (state_.board.failed()) {
      if (!faulted_ && !cancelled_) found("the load failed without a reason");
      return;
    }
    if (faulted_) found("a failed read went unnoticed");
    for (std::size_t i = 0; i < want.size(); ++i)
      if (sink_.parameters[i] != want[i] || sink_.announced[i] != 1) found("a parameter is wrong, or not announced once");
  }

 private:
  struct act {
    enum what : u8 { advance, arrive, fail, copy, cancel } kind;
    u32 lane = 0, which = 0;
    int point = -1;          // advance: something happens at this point ...
    bool cancels = false;    // ... a cancel, or else a step of the other lane
  };
  struct actor {
    scripted_storage::lane io{};
    std::unique_ptr<lane> code{};
    need wants = need::again;
    bool turned = true;      // the next is a step (or the end), not a turn
    bool inside = false;     // it waits in the storage, with its bell set if it wants news
    bool quiet = false;
  };
  static constexpr int points = 6;

  static detail::prepared prepare(plan const& p) {
    auto pre = detail::prepare(p);
    if (!pre) found(pre.error().what());
    return std::move(*pre);
  }
  static counting_sink sink_of(plan const& p) {
    counting_sink s;
    for (auto const& q : p.parameters) s.parameters.emplace_back(q.size.count, support::untouched), s.announced.push_back(0);
    return s;
  }
  bool all_quiet() const {
    return std::all_of(actors_, actors_ + u_.lanes, [](auto& a) { return a.quiet; });
  }
  bool can_cancel() const { return !cancelled_ && !state_.board.failed(); }
  void cancel() {
    state_.board.fail({error_kind::cancelled, "scripted"});
    cancelled_ = true;
  }

  bool can_advance(u32 i) const {
    auto const& a = actors_[i];
    if (a.quiet) return false;
    if (a.turned) return true;
    if (a.wants == need::event) return detail::lane_view::event_done(*a.code);
    if (a.wants == need::news) return detail::lane_view::epoch_moved(*a.code);
    return a.io.woken || (!a.inside && detail::lane_view::wants_news(*a.code)) ||
           std::any_of(a.io.queue.begin(), a.io.queue.end(), [](auto& o) { return o.here; });
  }
  void advance(u32 i) {
    auto& a = actors_[i];
    if (!a.turned) {
      bool const returns = a.wants != need::io || a.io.woken ||
                           std::any_of(a.io.queue.begin(), a.io.queue.end(), [](auto& o) { return o.here; });
      a.code->turn(a.wants, std::chrono::milliseconds(100));
      a.turned = returns || a.io.polled;
      a.inside = !a.turned;
    } else if (a.wants == need::end) {
      a.code->quiet();
      a.quiet = true;
      if (!traffic_.streams[i].empty() || !a.io.queue.empty()) found("a lane went quiet with a copy or a read under way");
    } else {
      a.wants = a.code->step();
      a.turned = a.wants == need::again || a.wants == need::end;
      a.inside = false;
    }
  }

  std::vector<act> possible() const {
    std::vector<act> all;
    for (u32 i = 0; i < u_.lanes; ++i) {
      auto const& a = actors_[i];
      if (can_advance(i)) {
        all.push_back({act::advance, i});
        for (int k = 0; k < points && a.wants != need::end; ++k) {
          if (can_cancel()) all.push_back({act::advance, i, 0, k, true});
          if (u_.lanes == 2 && can_advance(1 - i)) all.push_back({act::advance, i, 0, k, false});
        }
      }
      for (u32 r = 0; r < a.io.queue.size(); ++r) {
        if (a.io.queue[r].here) continue;
        all.push_back({act::arrive, i, r});
        if (!faulted_) all.push_back({act::fail, i, r});
      }
      if (!traffic_.streams[i].empty()) all.push_back({act::copy, i});
    }
    if (can_cancel()) all.push_back({act::cancel});
    return all;
  }
  void perform(act const& x) {
    if (x.kind == act::arrive || x.kind == act::fail) actors_[x.lane].io.arrive(x.which, x.kind == act::fail);
    if (x.kind == act::fail) faulted_ = true;
    if (x.kind == act::copy) traffic_.do_next(x.lane);
    if (x.kind == act::cancel) cancel();
    if (x.kind != act::advance) return;
    interruption.points_to_go = x.point;
    interruption.what = [this, x] {
      if (x.cancels) return cancel();
      if (can_advance(1 - x.lane)) advance(1 - x.lane);
    };
    advance(x.lane);
    interruption.points_to_go = -1;
  }

  /// Equal states have equal numbers; two that differ have equal ones about once in 2^64.
  u64 hash() const {
    u64 h = 1469598103934665603u;
    auto const add = [&h](u64 x) { h = (h ^ x) * 1099511628211u, h ^= h >> 29; };
    for (u32 i = 0; i < u_.lanes; ++i) {
      auto const& a = actors_[i];
      detail::lane_view::describe(*a.code, add);
      add(static_cast<u64>(a.wants) * 8 + u64{a.turned} * 4 + u64{a.inside} * 2 + a.quiet);
      add(u64{a.io.woken} * 2 + state_.board.bell_is_set(i));
      for (auto const& o : a.io.queue) add(100 + u64{o.request.tag} * 4 + u64{o.here} * 2 + o.bad);
      for (auto const& w : traffic_.streams[i]) {
        add(w.mark ? 7 : 1000 + w.ops.size());
        for (auto const& op : w.ops) add(place_of(op.to));
      }
    }
    add(state_.reads.taken()), add(state_.reads.held().count);
    add(u64{state_.board.failed()} * 4 + u64{faulted_} * 2 + cancelled_);
    for (std::size_t g = 0; g < u_.p.groups.size(); ++g) add(u64{state_.keeps.left(g)} * 64 + state_.steps.left(g));
    for (int n : sink_.announced) add(static_cast<u64>(n));
    return h;
  }
  u64 place_of(std::byte const* to) const {
    for (std::size_t i = 0; i < sink_.parameters.size(); ++i) {
      auto const& p = sink_.parameters[i];
      if (to >= p.data() && to < p.data() + p.size()) return i * 1000 + static_cast<u64>(to - p.data());
    }
    found("a copy goes to no parameter");
  }

  set_up const& u_;
  detail::prepared const pre_;
  load_options const options_ = [] {
    load_options o;
    o.direct_above = always_direct;  // decided by the device's `reaches`
    return o;
  }();
  traffic traffic_;
  scripted_device device_;
  counting_sink sink_;
  state state_;
  actor actors_[most_lanes];
  bool faulted_ = false, cancelled_ = false;
};

/// Walks all choices depth first, each state once. @returns states seen and runs made
std::pair<std::size_t, u64> explore(set_up const& u, std::vector<scripted_storage::object> const& objects,
                                    std::vector<blob> const& want) {
  struct choice {
    int taken, of;
  };
  std::unordered_set<u64> seen;
  std::vector<choice> path;
  u64 runs = 0;
  do {
    std::size_t depth = 0;
    world w(u, objects);
    bool const ended = w.run([&](int n, u64 h) {
      if (depth < path.size()) return path[depth++].taken;
      if (!seen.insert(h).second) return -1;
      path.push_back({0, n}), ++depth;
      return 0;
    });
    if (ended) w.check(want);
    ++runs;
    while (!path.empty() && path.back().taken + 1 == path.back().of) path.pop_back();
    if (!path.empty()) ++path.back().taken;
  } while (!path.empty());
  return {seen.size(), runs};
}

/// Two parameters of 64 bytes and three reads of 32.
plan make_plan(std::vector<blob> const& objects, char const* kind, u32 lanes, u32 slots, u32 depth, u64 room) {
  support::plan_builder b(objects);
  b.parameter(1, 64), b.parameter(1, 64);
  b.memory(lanes, slots, depth, slot_size, room);
  switch (kind[0]) {
    case 'p':  // no group
      b.read(0, 0, 32).place(0, 0, 32, 0);
      b.read(0, 32, 32).place(1, 0, 32, 0);
      b.read(0, 64, 32).place(0, 0, 32, 32);
      break;
    case 'k':  // kept in the first read, steps in the others
      b.group(8, 1, 2, support::mix);
      b.read(0, 0, 32).place(0, 0, 16, 0).keep(0, 16, 8, 0);
      b.read(0, 32, 32).step(0, 0, 0, 32, 16);
      b.read(0, 64, 32).step(1, 0, 0, 32, 0);
      break;
    case 't':  // two groups with room for one; keep and step of a group in one slot
      b.group(8, 1, 2, support::mix), b.group(8, 1, 1, support::mix);
      b.read(0, 0, 32).step(0, 0, 0, 16, 0).keep(0, 16, 8, 0);
      b.read(0, 32, 32).step(0, 0, 0, 16, 16);
      b.read(0, 64, 32).keep(1, 0, 8, 0).step(1, 1, 8, 24, 0);
      break;
    case 'z':  // zeros that wait for what another read keeps
      b.group(8, 1, 2, support::mix);
      b.read(0, 0, 32).place(0, 0, 16, 0).keep(0, 16, 8, 0);
      b.zeros(32).step(0, 0, 0, 32, 16);
      b.read(0, 64, 32).step(1, 0, 0, 32, 0);
      break;
  }
  return b.finish();
}
}  // namespace

int main() {
  std::vector<blob> content(1);
  for (int i = 0; i < 96; ++i) content[0].push_back(static_cast<std::byte>(i * 7 + 1));
  std::vector<scripted_storage::object> const objects{{content[0]}};

  struct {
    char const* name;
    char const* kind;
    u32 lanes, slots, depth;
    u64 room;
    bool direct;
  } const table[] = {
      {"2 lanes x 1 slot, no groups", "plain", 2, 1, 1, 0, false},
      {"2 lanes x 1 slot, kept + 2 steps", "kept", 2, 1, 1, 8, false},
      {"2 lanes x 1 slot, two groups, room for one", "two", 2, 1, 1, 8, false},
      {"1 lane x 2 slots, kept + 2 steps", "kept", 1, 2, 2, 8, false},
      {"1 lane x 2 slots, two groups, room for one", "two", 1, 2, 2, 8, false},
      {"2 lanes x 2 slots, two groups, room for one", "two", 2, 2, 2, 8, false},
      {"2 lanes x 1 slot, zeros that wait", "zeros", 2, 1, 1, 8, false},
      {"2 lanes x 2 slots, zeros that wait", "zeros", 2, 2, 2, 8, false},
      {"2 lanes x 2 slots, direct", "plain", 2, 2, 2, 0, true},
  };
  for (auto const& t : table) {
    set_up const u{t.name, make_plan(content, t.kind, t.lanes, t.slots, t.depth, t.room), t.lanes, t.slots, t.depth, t.room, t.direct};
    auto const [states, runs] = explore(u, objects, support::expected(u.p, content));
    std::printf("%-48s %8zu states %9llu runs\n", u.name, states, static_cast<unsigned long long>(runs));
    std::fflush(stdout);
  }
}
