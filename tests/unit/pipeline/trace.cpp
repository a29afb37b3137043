/// What a trace hears: the way of each slot, and time that is the report's.
#include <penstock/pipeline/executor.hpp>

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <deque>
#include <map>
#include <mutex>

#include "../../support/fake_async.hpp"
#include "../../support/memory_sink.hpp"

using namespace penstock;
using clock_type = std::chrono::steady_clock;
using support::blob;
using support::fake_storage;
using support::memory_sink;
using support::objects_of;
using support::pattern;
using support::plan_builder;

namespace {
std::vector<blob> const content{pattern(40000)};

struct heard {
  struct span {
    activity what;
    clock_type::time_point from, to;
  };
  struct change {
    u32 slot, read;
    slot_state now;
  };
  struct lane {
    plan const* of;
    u32 number;
    std::vector<span> spans;
    std::vector<change> slots;
  };
  std::mutex m;
  std::deque<lane> lanes;
};
struct recording {
  heard* to;
  static thread_local heard::lane* here;

  void begin(plan const& p, u32 number) const noexcept {
    std::lock_guard const lock(to->m);
    here = &to->lanes.emplace_back(heard::lane{&p, number, {}, {}});
  }
  void spent(activity a, clock_type::time_point from, clock_type::time_point until) const noexcept {
    here->spans.push_back({a, from, until});
  }
  void slot(u32 slot, slot_state now, u32 read, u32) const noexcept { here->slots.push_back({slot, read, now}); }
};
thread_local heard::lane* recording::here = nullptr;
static_assert(trace_policy<recording> && trace_policy<no_trace>);

struct only_slots {
  void slot(u32, slot_state, u32, u32) const noexcept {}
};
struct may_throw : no_trace {
  void begin(plan const&, u32) const {}
};
static_assert(!trace_policy<only_slots> && !trace_policy<may_throw>);
static_assert(std::is_empty_v<detail::timed<no_trace>>);

plan many_reads() {
  plan_builder b(content, 1);
  b.parameter(16, 2048);
  for (u32 i = 0; i < 16; ++i) b.read(0, i * 2048, 2048).place(0, 0, 2048, i * 2048);
  b.zeros(512);
  b.memory(2, 2, 2, 4096);
  return b.finish();
}

template <class Device>
result<report> load(heard& h, plan const& p, Device& device, load_options o = {}) {
  fake_storage storage;
  memory_sink sink(p);
  o.direct_above = never_direct;
  return executor<fake_storage, Device, exchange::independent, recording>(storage, device, {&h})
      .load(p, objects_of(content), sink, o);
}

/// Every slot goes its way, and ends free. @returns how often each read was begun
std::map<u32, int> check_slots(heard::lane const& l) {
  std::map<u32, int> begun;
  std::map<u32, heard::change> now;
  for (auto const& c : l.slots) {
    auto const [at, fresh] = now.try_emplace(c.slot, heard::change{c.slot, c.read, slot_state::free});
    auto const next = static_cast<slot_state>((static_cast<int>(at->second.now) + 1) % 4);
    BOOST_TEST((c.now == next || c.now == slot_state::free));
    BOOST_TEST((c.now == slot_state::filling || c.read == at->second.read));
    at->second = c;
    if (c.now == slot_state::filling) ++begun[c.read];
  }
  for (auto const& [slot, last] : now) BOOST_TEST((last.now == slot_state::free));
  return begun;
}

/// Two spans of one lane are apart, or one is in the other.
void check_nested(heard::lane const& l) {
  for (auto const& a : l.spans) {
    BOOST_TEST((a.from <= a.to));
    for (auto const& b : l.spans) {
      bool const apart = a.to <= b.from || b.to <= a.from;
      bool const within = (a.from <= b.from && b.to <= a.to) || (b.from <= a.from && a.to <= b.to);
      BOOST_TEST((apart || within));
    }
  }
}
}  // namespace

BOOST_AUTO_TEST_SUITE(pipeline_trace)

BOOST_AUTO_TEST_CASE(a_trace_hears_each_read_once_and_the_times_of_the_report) {
  auto const p = many_reads();
  auto const check = [&](auto& device, bool asynchronous) {
    heard h;
    auto const r = load(h, p, device).value();
    BOOST_TEST(h.lanes.size() == 2u);
    std::map<u32, int> begun;
    std::map<activity, double> seconds;
    std::map<activity, int> times;
    for (auto const& l : h.lanes) {
      BOOST_TEST(l.of == &p);
      check_nested(l);
      for (auto const& [read, n] : check_slots(l)) begun[read] += n;
      for (auto const& s : l.spans)
        seconds[s.what] += std::chrono::duration<double>(s.to - s.from).count(), ++times[s.what];
    }
    BOOST_TEST(begun.size() == p.reads.size());
    for (auto const& [read, n] : begun) BOOST_TEST(n == 1);
    auto const same = [](double a, double b) { BOOST_TEST(std::abs(a - b) < 1e-9 * (1 + a)); };
    same(seconds[activity::admit] + seconds[activity::io], r.stages.read.busy);
    same(seconds[activity::news], r.stages.read.waiting);
    same(seconds[activity::land], r.stages.land.busy);
    same(seconds[activity::drain], r.stages.drain.busy);
    same(seconds[activity::event], r.stages.drain.waiting);
    BOOST_TEST(times[activity::copy] >= 16);
    BOOST_TEST(times[activity::callback] == 2);  // ready and layer_ready
    BOOST_TEST((times[activity::drain] > 0) == asynchronous);
  };
  device::host host;
  check(host, false);
  support::fake_async async{7, 50};
  check(async, true);
}

BOOST_AUTO_TEST_CASE(a_load_that_is_stopped_leaves_every_slot_free) {
  auto const p = many_reads();
  for (u64 after = 0; after < 30000; after += 7000) {
    heard h;
    std::stop_source stop;
    load_options o;
    o.stop = stop.get_token();
    o.watch.on_progress = [&](progress const& now) {
      if (now.done.count >= after) stop.request_stop();
    };
    support::fake_async async{3, 50};
    auto const r = load(h, p, async, o);
    BOOST_TEST((!r && r.error().kind() == error_kind::cancelled));
    for (auto const& l : h.lanes) check_slots(l), check_nested(l);
  }
}

BOOST_AUTO_TEST_SUITE_END()
