/// What the executor costs alone: reads that are there at once, copies that move no byte; and many tiny tensors.
///
///   alone [--rounds N] [--json FILE]
///
/// CPU time, checking the plan not counted where it says so. The musts are twice the first version's figures.
#include <cstring>

#include <penstock/device/host.hpp>
#include "../compare.hpp"
#include "even_plan.hpp"

namespace {
using namespace benchmarks;

/// Reads that are there at once; no byte moves.
struct null_storage {
  struct object {
    u64 n;
    bytes size() const { return bytes{n}; }
    std::string version() const { return "1"; }
  };
  struct lane {
    std::vector<u32> queue{};
    unsigned depth() const { return 1; }
    void submit(read_request<object> const& r) { queue.push_back(r.tag); }
    std::size_t wait(std::span<completion> out, std::chrono::microseconds) {
      std::size_t n = 0;
      for (; !queue.empty(); queue.pop_back()) out[n].tag = queue.back(), out[n].retries = 0, ++n;
      return n;
    }
    void wake() noexcept {}
    void cancel() noexcept { queue.clear(); }
    bytes transport_bytes() const { return {}; }
  };
  result<std::vector<object>> pin(uri const&, std::span<std::string const>) { return std::vector<object>{}; }
  result<std::vector<stored_object>> list(uri const&) { return std::vector<stored_object>{}; }
  result<std::unique_ptr<lane>> open_lane(std::span<object const>, unsigned, unsigned) {
    return std::make_unique<lane>();
  }
};

/// An asynchronous device that has nothing to do.
struct null_device {
  using staging = device::host_pages;
  template <memory M>
  static constexpr bool writes = true;
  struct event {
    result<bool> done() { return true; }
    result<void> wait() { return {}; }
  };
  struct stream {
    result<void> copy(std::span<copy_op const>) { return {}; }
    result<void> mark(event&) { return {}; }
  };
  result<staging> stage(bytes n) { return device::host_pages::allocate(n); }
  result<stream> open_stream() { return stream{}; }
  bool reaches(std::byte const*) const { return false; }
  result<void> bind() { return {}; }
};

/// The least CPU time of `f`, in seconds.
template <class F>
double best_of(int rounds, F&& f) {
  double best = 1e9;
  for (int i = 0; i < rounds; ++i) {
    double const before = cpu_seconds();
    f();
    best = std::min(best, cpu_seconds() - before);
  }
  return best;
}

void cost(arguments const& a) {
  null_storage storage;
  null_device device;
  struct must_be {
    u32 pieces;
    double ns_a_read[2];  ///< by one lane, by two
  };
  constexpr must_be musts[] = {{1, {400, 500}}, {16, {580, 940}}, {256, {256 * 17.2, 256 * 19.0}}};
  for (u32 lanes : {1u, 2u})
    for (auto const& m : musts) {
      u64 const reads = m.pieces == 1 ? 1000000 : m.pieces == 16 ? 200000 : 20000;
      auto p = even_plan(reads * 4096, 4096, m.pieces, true);
      give_memory(p, lanes, 2, 4096);
      null_storage::object const object[1] = {{reads * 4096}};
      std::byte place{};
      counting_sink sink{{&place}};
      load_options o;
      double const checks = best_of(a.rounds, [&] { (void)bool(detail::prepare(p)); });
      double const all = best_of(a.rounds, [&] { must_load(storage, device, p, object, sink, o); }) - checks;
      double const ns = all / static_cast<double>(reads) * 1e9, most = m.ns_a_read[lanes - 1];
      std::printf(
          "alone: %u lanes, %3u copies a read: %5.0f ns a read, %5.1f ns a copy; must: %4.0f ns a read: %s; the check %.1f ns a copy\n",
          lanes, m.pieces, ns, ns / m.pieces, most, ns <= most ? "met" : "MISSED",
          checks / static_cast<double>(reads * m.pieces) * 1e9);
      std::fflush(stdout);
      if (a.json)
        std::fprintf(
            a.json,
            "{\"benchmark\":\"executor alone\",\"lanes\":%u,\"copies\":%u,\"ns_a_read\":%.1f,\"must_ns_a_read\":%.0f}\n",
            lanes, m.pieces, ns, most);
    }
}

void tiny(arguments const& a) {
  constexpr u64 each = 512, slot = 4 << 20, total = 25 * slot;
  null_storage storage;
  device::host device;
  auto p = even_plan(total, slot, slot / each, false);
  null_storage::object const object[1] = {{total}};
  std::vector<std::byte> memory(total), from(2 * slot);
  comparison table("204,800 tensors of 512 bytes", static_cast<double>(p.parameters.size()), "tensor");
  table.add("a bare loop of memcpy", [&] {
    for (auto const& r : p.reads)
      for (u32 c = r.copies; c < r.copies_end; ++c)
        std::memcpy(memory.data() + p.copies[c].to * each, from.data() + p.copies[c].from, each);
  });
  load_options o;
  o.direct_above = never_direct;
  array_sink quiet{memory.data(), each};
  counting_sink counting{{memory.data(), each}};
  auto one = p, two = p;
  give_memory(one, 1, 2, slot), give_memory(two, 2, 2, slot);
  table.add("1 lane", [&] { must_load(storage, device, one, object, quiet, o); });
  table.add("1 lane, ready() for each", [&] { must_load(storage, device, one, object, counting, o); });
  table.add("2 lanes", [&] { must_load(storage, device, two, object, quiet, o); });
  table.add("2 lanes, ready() for each", [&] { must_load(storage, device, two, object, counting, o); });
  table.run(a);
}
}  // namespace

int main(int argc, char** argv) {
  arguments const a(argc, argv);
  if (!a.own.empty()) return std::fputs("usage: alone [--rounds N] [--json FILE]\n", stderr), 2;
  cost(a);
  tiny(a);
}
