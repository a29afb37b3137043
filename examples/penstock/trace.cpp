#include "trace.hpp"

#include <penstock/core/json_writer.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <string_view>

using namespace penstock;
using penstock::detail::json_object;

namespace {
thread_local void* current = nullptr;  // the events of the lane that runs in this thread

constexpr std::string_view activities[] = {"admit",    "wait: io", "land",        "copy",
                                           "callback", "drain",    "wait: event", "wait: news"};
constexpr std::string_view states[] = {"free", "filling", "full", "draining"};
constexpr auto shortest = std::chrono::nanoseconds(200);  // what is shorter says nothing

/// Writes events one a line, with commas between them.
class event_list {
 public:
  event_list(output_file& to) : to_(to) {}
  /// @param more  adds what only this kind of event has
  void add(std::string_view name, char const* kind, u64 process, u64 row,
           std::function<void(json_object&)> const& more) {
    std::string line(first_ ? "" : ",");
    first_ = false;
    {
      json_object o(line);
      o.add("name", name), o.add("ph", kind), o.add("pid", process), o.add("tid", row);
      more(o);
    }
    to_.write_line(line);
  }
  void name(char const* what, u64 process, u64 row, std::string const& name) {
    add(what, "M", process, row, [&](json_object& o) { json_object(o.key("args")).add("name", name); });
  }

 private:
  output_file& to_;
  bool first_ = true;
};
}  // namespace

trace::lane_events& trace::begin(plan const& p, u32 lane) {
  std::lock_guard const lock(m_);
  return lanes_.emplace_back(lane_events{&p, lane, {}, {}});
}
void tracing::begin(plan const& p, u32 lane) const noexcept {
  if (to) current = &to->begin(p, lane);
}
void tracing::spent(activity a, trace::clock::time_point from, trace::clock::time_point until) const noexcept {
  if (to && current && until - from >= shortest)
    static_cast<trace::lane_events*>(current)->spans.push_back({a, from, until});
}
void tracing::slot(u32 slot, slot_state now, u32 read, u32 retries) const noexcept {
  if (to && current)
    static_cast<trace::lane_events*>(current)->slots.push_back({trace::clock::now(), slot, read, retries, now});
}

void trace::span(char const* name, clock::time_point from, clock::time_point to) {
  std::lock_guard const lock(m_);
  spans_.push_back({name, 0, from, to});
}
void trace::mark(std::string name, unsigned rank) {
  auto const now = clock::now();
  std::lock_guard const lock(m_);
  marks_.push_back({std::move(name), rank, now, now});
}

result<void> trace::write(output_file& to) const {
  to.write_line("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[");
  event_list events(to);
  events.name("process_name", 0, 0, "penstock");
  events.name("thread_name", 0, 0, "program");
  auto const time = [&](json_object& o, clock::time_point from, clock::time_point until) {
    o.add("ts", micros(from)), o.add("dur", micros(until) - micros(from));
  };
  for (auto const& s : spans_) events.add(s.name, "X", 0, 0, [&](json_object& o) { time(o, s.from, s.to); });

  struct moved {
    clock::time_point at;
    std::int64_t asked, landed;
  };
  std::map<u32, std::vector<moved>> by_rank;
  for (auto const& l : lanes_) {
    auto const& p = *l.plan;
    u64 const process = p.rank + 1, row = 1 + l.number * u64{p.memory.slots + 1};
    if (by_rank.find(p.rank) == by_rank.end())
      events.name("process_name", process, 0, "rank " + std::to_string(p.rank));
    auto& moves = by_rank[p.rank];
    auto const lane = "lane " + std::to_string(l.number);
    events.name("thread_name", process, row, lane);
    for (u32 s = 0; s < p.memory.slots; ++s)
      events.name("thread_name", process, row + 1 + s, lane + ", slot " + std::to_string(s));
    for (auto const& s : l.spans)
      events.add(activities[static_cast<unsigned>(s.what)], "X", process, row,
                 [&](json_object& o) { time(o, s.from, s.to); });
    std::vector<slot_change const*> before(p.memory.slots);
    for (auto const& c : l.slots) {
      auto const* const was = std::exchange(before[c.slot], &c);
      auto const& r = p.reads[c.read];
      auto const size = static_cast<std::int64_t>(r.size);
      if (c.now == slot_state::filling) moves.push_back({c.at, size, 0});
      if (was && was->now == slot_state::filling) moves.push_back({c.at, -size, 0});
      if (was && was->now == slot_state::draining) moves.push_back({c.at, 0, size});
      if (!was || was->now == slot_state::free) continue;
      events.add(states[static_cast<unsigned>(was->now)], "X", process, row + 1 + c.slot, [&](json_object& o) {
        time(o, was->at, c.at);
        json_object args(o.key("args"));
        args.add("read", u64{c.read});
        if (was->now != slot_state::filling) return;
        args.add("file", r.object == no_object ? std::string_view("zeros") : p.objects[index_of(r.object)]);
        args.add("first", r.first), args.add("bytes", r.size), args.add("retries", u64{c.retries});
        if (c.now != slot_state::full) args.add("ended", "without its bytes");
      });
    }
  }
  for (auto& [rank, moves] : by_rank) {
    std::stable_sort(moves.begin(), moves.end(), [](auto const& a, auto const& b) { return a.at < b.at; });
    std::int64_t asked = 0, landed = 0;
    for (auto const& m : moves) {
      asked += m.asked, landed += m.landed;
      events.add("bytes", "C", rank + 1, 0, [&](json_object& o) {
        o.add("ts", micros(m.at));
        json_object args(o.key("args"));
        args.add("in requests", static_cast<u64>(asked)), args.add("landed", static_cast<u64>(landed));
      });
    }
  }
  for (auto const& m : marks_)
    events.add(m.name, "i", m.rank + 1, 0, [&](json_object& o) { o.add("s", "p"), o.add("ts", micros(m.from)); });
  to.write_line("]}");
  return to.commit();
}
