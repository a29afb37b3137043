#pragma once
/// One load of the real lanes, in which every next thing is chosen from outside.
#include <functional>

namespace explore {
/// What happens inside the step or turn that runs, and at which of its points.
struct interruption {
  std::function<void()> what{};
  int points_to_go = -1;
  void point() {
    if (points_to_go < 0 || points_to_go-- > 0) return;
    auto const now = std::move(what);
    what = nullptr;
    now();
  }
};
inline interruption interrupted;
}  // namespace explore
#define PENSTOCK_POINT() ::explore::interrupted.point()

#include <penstock/pipeline/executor.hpp>

#include "scripted.hpp"

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

namespace explore {
using detail::need;

struct set_up {
  char const* name;
  plan p;
  u32 lanes, slots, depth;
  u64 room;
  bool direct;    ///< the host reaches the parameters
  bool declines;  ///< the sink does not want the first parameter
};

/// One run of a set-up, from the first step to the end, along the choices of `pick`.
class world {
 public:
  using state = detail::load_state<scripted_storage, scripted_device, counting_sink>;
  using lane = detail::lane<scripted_storage, scripted_device, counting_sink>;

  world(set_up const& u, std::vector<scripted_storage::object> const& objects)
      : u_(u),
        pre_(prepare(u.p)),
        sink_(sink_of(u)),
        state_(u.p, pre_, objects, device_, sink_, options_, u.lanes, bytes{u.room}) {
    device_.direct = u.direct;
    if (!state_.begin()) found("the load cannot begin");
    for (u32 i = 0; i < u.lanes; ++i) {
      actors_[i].io.of = &traffic_, actors_[i].io.wanted = u.depth;
      state_.board.connect(i, actors_[i].io);
      actors_[i].code =
          std::make_unique<lane>(state_, device_, actors_[i].io, scripted_device::stream{&traffic_, i}, i);
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
    for (std::size_t i = u_.declines; i < want.size(); ++i)
      if (sink_.parameters[i] != want[i] || sink_.announced[i] != 1)
        found("a parameter is wrong, or not announced once");
    if (u_.declines && sink_.announced[0]) found("a declined parameter was announced");
  }

 private:
  struct act {
    enum what : u8 { advance, arrive, fail, copy, cancel } kind;
    u32 lane = 0, which = 0;
    int point = -1;        // advance: something happens at this point ...
    bool cancels = false;  // ... a cancel, or else a step of the other lane
  };
  struct actor {
    scripted_storage::lane io{};
    std::unique_ptr<lane> code{};
    need wants = need::again;
    bool turned = true;   // the next is a step (or the end), not a turn
    bool inside = false;  // it waits in the storage, with its bell set if it wants news
    bool quiet = false;
  };
  static constexpr int points = 6;

  static detail::prepared prepare(plan const& p) {
    auto pre = detail::prepare(p);
    if (!pre) found(pre.error().what());
    return std::move(*pre);
  }
  static counting_sink sink_of(set_up const& u) {
    counting_sink s;
    s.declines_first = u.declines;
    for (auto const& q : u.p.parameters)
      s.parameters.emplace_back(q.size.count, support::untouched), s.announced.push_back(0);
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
      if (!traffic_.streams[i].empty() || !a.io.queue.empty())
        found("a lane went quiet with a copy or a read under way");
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
    interrupted.points_to_go = x.point;
    interrupted.what = [this, x] {
      if (x.cancels) return cancel();
      if (can_advance(1 - x.lane)) advance(1 - x.lane);
    };
    advance(x.lane);
    interrupted.points_to_go = -1;
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
}  // namespace explore
