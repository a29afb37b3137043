/// Every interleaving of the executor's real lanes.
///
/// The explorer decides which lane goes on, which read arrives or fails, which stream does its next copy, and when the
/// load is cancelled; inside a step or turn, at each PENSTOCK_POINT, a cancel or a whole step of the other lane may happen.
/// It visits every state once and ends with a finding and status 1, or with the number of states of each set-up.
#include "world.hpp"

#include <unordered_set>

namespace {
using namespace explore;

/// Walks all choices depth first, each state once. @returns states seen and runs made
std::pair<std::size_t, u64> walk(set_up const& u, std::vector<scripted_storage::object> const& objects,
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
    bool direct, declines;
  } const table[] = {
      {"2 lanes x 1 slot, no groups", "plain", 2, 1, 1, 0, false, false},
      {"2 lanes x 1 slot, kept + 2 steps", "kept", 2, 1, 1, 8, false, false},
      {"2 lanes x 1 slot, two groups, room for one", "two", 2, 1, 1, 8, false, false},
      {"1 lane x 2 slots, kept + 2 steps", "kept", 1, 2, 2, 8, false, false},
      {"1 lane x 2 slots, two groups, room for one", "two", 1, 2, 2, 8, false, false},
      {"2 lanes x 2 slots, two groups, room for one", "two", 2, 2, 2, 8, false, false},
      {"2 lanes x 1 slot, zeros that wait", "zeros", 2, 1, 1, 8, false, false},
      {"2 lanes x 2 slots, zeros that wait", "zeros", 2, 2, 2, 8, false, false},
      {"2 lanes x 2 slots, direct", "plain", 2, 2, 2, 0, true, false},
      {"2 lanes x 1 slot, two groups, one declined", "two", 2, 1, 1, 8, false, true},
  };
  for (auto const& t : table) {
    set_up const u{t.name,   make_plan(content, t.kind, t.lanes, t.slots, t.depth, t.room),
                   t.lanes,  t.slots,
                   t.depth,  t.room,
                   t.direct, t.declines};
    auto const [states, runs] = walk(u, objects, support::expected(u.p, content));
    std::printf("%-48s %8zu states %9llu runs\n", u.name, states, static_cast<unsigned long long>(runs));
    std::fflush(stdout);
  }
}
