/// What the executor costs: alone, with tiny tensors, and against plain reads of the same file.
///
///   executor [cost] [tiny] [local FILE]      FILE is best in tmpfs, of some 2 GiB
///
/// Each table is one run; compare the columns, not runs. Build with -O2 -DNDEBUG, or without NDEBUG for a checked build.
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include <penstock/device/host.hpp>
#include <penstock/pipeline/executor.hpp>
#include <penstock/storage/local.hpp>

namespace {
using namespace penstock;

double wall_now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }
double cpu_now() {
  rusage u;
  ::getrusage(RUSAGE_SELF, &u);
  return static_cast<double>(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
         1e-6 * static_cast<double>(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}
/// The least that one of `rounds` calls took, in seconds by `clock`.
template <class F>
double best_of(int rounds, double (*clock)(), F&& f) {
  double best = 1e9;
  for (int i = 0; i < rounds; ++i) {
    double const before = clock();
    f();
    best = std::min(best, clock() - before);
  }
  return best;
}

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

/// Places parameter i at `at + i * each`.
struct array_sink {
  std::byte* at;
  u64 each = 0;
  placement destination(parameter const& p) {
    placement to;
    to.at = at + index_of(p.id) * each;
    return to;
  }
};
struct counting_sink : array_sink {
  u64 announced = 0;
  void ready(parameter const&) { ++announced; }
};

/// Reads of `slot` bytes with `pieces` copies each, into one parameter or into one each.
plan even_plan(u64 total, u32 slot, u32 pieces, bool one_parameter) {
  plan p;
  p.layers = 1;
  p.objects = {"object"};
  u64 const each = slot / pieces;
  auto const add = [&](u64 size) {
    auto const id = static_cast<u32>(p.parameters.size());
    p.parameters.push_back({"p", dtype::uint8, {size}, bytes{size}, bytes{size}, layer_id{0}, param_id{id}, 0});
  };
  if (one_parameter) add(total);
  for (u64 first = 0; first < total; first += slot) {
    auto const copies = static_cast<u32>(p.copies.size());
    for (u32 i = 0; i < pieces; ++i) {
      if (!one_parameter) add(each);
      auto& q = p.parameters.back();
      ++q.pieces;
      p.copies.push_back({plan_copy::what::place, index_of(q.id), no_group, static_cast<u32>(i * each),
                          static_cast<u32>(each), 1, 0, one_parameter ? first + i * each : 0, 0});
    }
    p.reads.push_back({object_id{0}, slot, first, copies, static_cast<u32>(p.copies.size())});
  }
  p.needed = p.read = bytes{total};
  return p;
}
void give_memory(plan& p, u32 lanes, u32 slots, u64 slot) {
  p.memory = {lanes, slots, 1, bytes{slot}, {}, {}, gibibytes(8)};
}

template <class Storage, class Device, class Sink>
void must_load(Storage& s, Device& d, plan const& p, std::span<typename Storage::object const> objects, Sink& sink,
               load_options const& o) {
  auto const r = executor<Storage, Device>(s, d).load(p, objects, sink, o);
  if (!r) std::fprintf(stderr, "%s\n", r.error().what()), std::exit(1);
}

void cost() {
  null_storage storage;
  null_device device;
  for (u32 lanes : {1u, 2u})
    for (u32 pieces : {1u, 16u, 256u}) {
      u64 const reads = pieces == 1 ? 1000000 : pieces == 16 ? 200000 : 20000;
      auto p = even_plan(reads * 4096, 4096, pieces, true);
      give_memory(p, lanes, 2, 4096);
      null_storage::object const object[1] = {{reads * 4096}};
      std::byte place{};
      counting_sink sink{{&place}};
      load_options o;
      double const checks = best_of(3, cpu_now, [&] { (void)bool(detail::prepare(p)); });
      double const all = best_of(3, cpu_now, [&] { must_load(storage, device, p, object, sink, o); }) - checks;
      std::printf(
          "alone: %u lanes, %3u copies a read: %6.0f ns a read, %5.1f ns a copy (CPU); the check %.1f ns a copy\n",
          lanes, pieces, all / static_cast<double>(reads) * 1e9, all / static_cast<double>(reads * pieces) * 1e9,
          checks / static_cast<double>(reads * pieces) * 1e9);
    }
}

void tiny() {
  constexpr u64 each = 512, slot = 4 << 20, total = 25 * slot;
  null_storage storage;
  device::host device;
  auto p = even_plan(total, slot, slot / each, false);
  null_storage::object const object[1] = {{total}};
  std::vector<std::byte> memory(total), from(2 * slot);
  double const loop = best_of(5, cpu_now, [&] {
    for (auto const& r : p.reads)
      for (u32 c = r.copies; c < r.copies_end; ++c)
        std::memcpy(memory.data() + p.copies[c].to * each, from.data() + p.copies[c].from, each);
  });
  std::printf("tiny: %zu tensors of 512 B: a bare loop %.2f ms (CPU)\n", p.parameters.size(), loop * 1e3);
  for (u32 lanes : {1u, 2u}) {
    give_memory(p, lanes, 2, slot);
    load_options o;
    o.direct_above = never_direct;
    array_sink quiet{memory.data(), each};
    counting_sink counting{{memory.data(), each}};
    double const a = best_of(5, cpu_now, [&] { must_load(storage, device, p, object, quiet, o); });
    double const b = best_of(5, cpu_now, [&] { must_load(storage, device, p, object, counting, o); });
    std::printf("tiny: %u lanes: %.2f ms, with ready() for each %.2f ms (CPU)\n", lanes, a * 1e3, b * 1e3);
  }
}

void plain_reads(int file, std::byte* to, u64 total, u32 threads, u64 chunk) {
  std::atomic<u64> next{0};
  auto const body = [&] {
    for (u64 at; (at = next.fetch_add(chunk)) < total;)
      for (u64 end = std::min(at + chunk, total); at < end;) {
        auto const n = ::pread(file, to + at, end - at, static_cast<off_t>(at));
        if (n <= 0) std::abort();
        at += static_cast<u64>(n);
      }
  };
  std::vector<std::thread> others;
  for (u32 i = 1; i < threads; ++i) others.emplace_back(body);
  body();
  for (auto& t : others) t.join();
}

void local(char const* path) {
  storage::local storage;
  device::host device;
  std::string const whole = path;
  auto const slash = whole.rfind('/');
  std::string const name[1] = {whole.substr(slash + 1)};
  auto objects = storage.pin(uri::parse(whole.substr(0, slash)).value(), name);
  if (!objects) std::fprintf(stderr, "%s\n", objects.error().what()), std::exit(1);
  u64 const total = (*objects)[0].size().count / (4 << 20) * (4 << 20);
  int const file = ::open(path, O_RDONLY | O_CLOEXEC);
  auto memory = device::host_pages::allocate(bytes{total}).value();
  std::memset(memory.data(), 1, total);
  array_sink sink{memory.data()};
  auto whole_slots = even_plan(total, 4 << 20, 1, true), many_pieces = even_plan(total, 4 << 20, 32, true),
       small_slots = even_plan(total, 1 << 20, 1, true);
  for (u32 lanes : {1u, 2u}) {
    give_memory(whole_slots, lanes, 2, 4 << 20), give_memory(many_pieces, lanes, 2, 4 << 20),
        give_memory(small_slots, lanes, 2, 1 << 20);
    load_options direct, slots;
    slots.direct_above = never_direct;
    double best[5], cpu[5];
    std::fill(best, best + 5, 1e9), std::fill(cpu, cpu + 5, 1e9);
    for (int round = 0; round < 5; ++round) {  // side by side: the machine's mood is the same for all
      int i = 0;
      auto const run = [&](auto&& f) {
        double const before = cpu_now();
        best[i] = std::min(best[i], best_of(1, wall_now, f));
        cpu[i] = std::min(cpu[i], cpu_now() - before), ++i;
      };
      run([&] { plain_reads(file, memory.data(), total, lanes, 4 << 20); });
      run([&] { must_load(storage, device, whole_slots, *objects, sink, direct); });
      run([&] { must_load(storage, device, many_pieces, *objects, sink, direct); });
      run([&] { must_load(storage, device, whole_slots, *objects, sink, slots); });
      run([&] { must_load(storage, device, small_slots, *objects, sink, slots); });
    }
    char const* const names[] = {"plain pread, 4 MiB, into one buffer", "lanes, direct, 4 MiB",
                                 "lanes, direct, 32 places a read", "lanes, slots of 4 MiB", "lanes, slots of 1 MiB"};
    for (int i = 0; i < 5; ++i)
      std::printf("local: %u threads: %-36s %5.2f GB/s %4.0f %%, %.3f CPU s/GB\n", lanes, names[i],
                  static_cast<double>(total) / best[i] / 1e9, 100 * best[0] / best[i],
                  cpu[i] / static_cast<double>(total) * 1e9);
  }
  ::close(file);
}
}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return cost(), tiny(), 0;
  for (int i = 1; i < argc; ++i) {
    std::string const what = argv[i];
    if (what == "cost") cost();
    else if (what == "tiny") tiny();
    else if (what == "local" && i + 1 < argc) local(argv[++i]);
    else return std::fprintf(stderr, "usage: executor [cost] [tiny] [local FILE]\n"), 2;
  }
}
