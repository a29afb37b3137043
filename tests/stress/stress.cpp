/// Random plans under random conditions: slot sizes, lanes, depths, delays, failing reads and copies, throwing callbacks,
/// cancels at any moment, the smallest legal memory limit. Every load is compared with a run of one read after the other,
/// also at the moment when a parameter is announced, and leaves no read, copy or thread behind.
///
///   stress [FIRST_SEED [RUNS]]
#include <dirent.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <thread>

#include <penstock/pipeline/executor.hpp>

#include "../support/fake_async.hpp"
#include "../support/fake_storage.hpp"
#include "../support/random_plan.hpp"

namespace {
using namespace penstock;
using support::blob;
using support::pick;
using support::rng;
using support::untouched;

u32 seed_now;
#define CHECK(x)                                                              \
  do {                                                                        \
    if (!(x)) {                                                               \
      std::fprintf(stderr, "seed %u: line %d: %s\n", seed_now, __LINE__, #x); \
      std::abort();                                                           \
    }                                                                         \
  } while (0)

int threads() {
  int n = 0;
  DIR* const d = ::opendir("/proc/self/task");
  while (::readdir(d)) ++n;
  ::closedir(d);
  return n - 2;
}

/// Counts, compares, and throws after a while.
struct watching {
  support::random_world const& w;
  bool serial;
  long until_throw;
  std::vector<blob> memory{};
  std::vector<int> readies, layers;
  std::vector<bool> declined;
  std::atomic<int> inside{0};

  watching(support::random_world const& world, bool one_at_a_time, long calls)
      : w(world),
        serial(one_at_a_time),
        until_throw(calls),
        readies(w.p.parameters.size()),
        layers(w.p.layers),
        declined(w.p.parameters.size()) {}

  void enter() {
    if (!serial) return;
    CHECK(inside.fetch_add(1) == 0);
    bool const now = until_throw >= 0 && until_throw-- == 0;
    --inside;
    if (now) throw std::runtime_error("a sink threw");
  }
  void layer_ready(layer_id l) { ++layers[index_of(l)]; }
  void check_end() const {
    for (std::size_t i = 0; i < readies.size(); ++i) CHECK(readies[i] == !declined[i]);
    for (u32 l = 0; l < w.p.layers; ++l) {
      int any = 0;
      for (auto const& p : w.p.parameters) any |= index_of(p.layer) == l && !declined[index_of(p.id)];
      CHECK(layers[l] == any);
    }
  }
};

/// Places tight, with pitches, or not at all.
struct place_sink : watching {
  std::vector<placement> where;
  place_sink(support::random_world const& world, bool one_at_a_time, long calls, rng& r)
      : watching(world, one_at_a_time, calls), where(w.p.parameters.size()) {
    memory.resize(where.size());
    for (auto const& p : w.p.parameters) {
      u32 const i = index_of(p.id);
      if (pick(r, 0, 9) == 0) {
        declined[i] = true;
        continue;
      }
      u64 const row = std::max<u64>(p.row.count, 1), rank = p.shape.rank(),
                matrix = rank > 1 ? p.shape[static_cast<unsigned>(rank) - 2] : 1;
      u64 size = p.size.count;
      if (pick(r, 0, 1)) {
        where[i].row_pitch = bytes{pick(r, 0, 2) ? row + pick(r, 0, 20) : 0};
        u64 const pitch = std::max(where[i].row_pitch.count, row);
        if (rank == 3 && pick(r, 0, 1)) where[i].expert_stride = bytes{matrix * pitch + pick(r, 0, 50)};
        size = std::max<u64>(rank == 3 ? p.shape[0] : 1, 1) * std::max(where[i].expert_stride.count, matrix * pitch);
      }
      memory[i].assign(size + 1, untouched);
      where[i].at = memory[i].data();
    }
  }
  placement destination(parameter const& p) { return where[index_of(p.id)]; }
  void ready(parameter const& p) {
    enter();
    u32 const i = index_of(p.id);
    ++readies[i];
    CHECK(tight(p) == w.want[i]);
  }
  /// The parameter without its pitches; the bytes between are looked at as well.
  blob tight(parameter const& p) const {
    u32 const i = index_of(p.id);
    blob out, rest = memory[i];
    u64 const row = std::max<u64>(p.row.count, 1), rank = p.shape.rank(),
              matrix = std::max<u64>(rank > 1 ? p.shape[static_cast<unsigned>(rank) - 2] : 1, 1);
    u64 const pitch = where[i].row_pitch.count ? where[i].row_pitch.count : row;
    u64 const stride = where[i].expert_stride.count ? where[i].expert_stride.count : matrix * pitch;
    for (u64 at = 0; at < p.size.count; at += row) {
      auto const from = static_cast<long>(at / row / matrix * stride + at / row % matrix * pitch);
      out.insert(out.end(), memory[i].begin() + from, memory[i].begin() + from + static_cast<long>(row));
      std::fill_n(rest.begin() + from, row, untouched);
    }
    for (auto b : rest) CHECK(b == untouched);
    return out;
  }
};

/// Copies each loan to its place; on an asynchronous device now and then through the lease's stream.
struct borrow_sink : watching {
  borrow_sink(support::random_world const& world, bool one_at_a_time, long calls, rng&)
      : watching(world, one_at_a_time, calls) {
    for (auto const& p : w.p.parameters) memory.emplace_back(p.size.count, untouched);
  }
  template <class Stream>
  void piece(parameter const& p, landed_piece const& piece, borrowed_tensor const& loan, lease<Stream>& held) {
    enter();
    auto const& box = piece.where;
    u64 const pitch = piece.pitch.count;
    CHECK(loan.size() == bytes{(box.rows - 1) * pitch} + box.width);
    auto* const to = memory[index_of(p.id)].data() + box.at.count;
    if (box.at.count % 2) {
      copy_op const op{to,
                       loan.unsafe_data({"a test of the lease's stream"}),
                       static_cast<u32>(box.width.count),
                       static_cast<u32>(box.rows),
                       box.pitch.count,
                       pitch};
      (void)held.stream().copy({&op, 1});
      return;
    }
    for (u64 row = 0; row < box.rows; ++row) loan.copy_to(to + row * box.pitch.count, bytes{row * pitch}, box.width);
  }
  void ready(parameter const& p) {
    enter();
    ++readies[index_of(p.id)];
    CHECK(memory[index_of(p.id)] == w.want[index_of(p.id)]);
  }
};

/// Memory with a pattern, so that bytes which no copy writes compare; it has none now and then.
struct patterned_memory {
  static constexpr memory_space space = memory_space::host;
  static inline std::atomic<long> until_none{-1};
  static void* allocate(std::size_t n) noexcept {
    if (until_none.load() >= 0 && until_none.fetch_sub(1) == 0) return nullptr;
    void* const p = host_memory::allocate(n);
    if (p) std::memset(p, static_cast<int>(untouched), n);
    return p;
  }
  static void release(void* p, std::size_t n) noexcept { host_memory::release(p, n); }
};

struct conditions {
  bool fault, cancel, serial;
};
struct {
  u64 good, failed, threw, cancelled;
} count;

template <class Device, class Sink>
bool load(rng& r, support::random_world const& w, Device& device, Sink& sink, conditions const& how) {
  support::fake_storage storage;
  storage.seed = support::draw(r);
  storage.delay_us = pick(r, 0, 3) ? pick(r, 0, 60) : 0;
  storage.fail_one_in = how.fault && pick(r, 0, 1) ? pick(r, 1, 20) : 0;
  std::vector<support::fake_storage::object> objects;
  for (auto const& o : w.objects) objects.push_back({o});

  readiness waiters(w.p);
  load_options options;
  options.serial_sink = how.serial;
  options.direct_above = pick(r, 0, 1) ? never_direct : bytes{pick(r, 0, 64)};
  options.ready = &waiters;
  u64 last = 0;
  std::atomic<int> observing{0};
  options.watch.on_progress = [&](progress const& p) {
    CHECK(observing.fetch_add(1) == 0);
    CHECK(p.done.count >= last && p.total == w.p.read);
    last = p.done.count;
    --observing;
  };
  std::stop_source stop;
  options.stop = stop.get_token();

  // Two threads that wait, each for something else; they end whatever becomes of the load.
  int const before = threads();
  layer_id const layer{pick(r, 0, w.p.layers - 1)};
  std::thread stopper, waiter;
  bool layer_came = false;
  if (how.cancel)
    stopper = std::thread([&, us = pick(r, 0, 300)] {
      std::this_thread::sleep_for(std::chrono::microseconds(us));
      stop.request_stop();
    });
  bool const waits = pick(r, 0, 4) == 0;
  if (waits) waiter = std::thread([&] { layer_came = bool(waiters.wait(layer)); });

  bool ok = false, threw = false;
  executor<support::fake_storage, Device> ex(storage, device);
  try {
    auto const done = ex.load(w.p, objects, sink, options);
    ok = bool(done);
    if (ok) {
      ++count.good;
      CHECK(done->peak_host_bytes <= w.p.memory.limit);
      CHECK(done->bytes_read == w.p.read && done->requests == w.p.requests && last == w.p.read.count);
      CHECK(done->bytes_needed <= w.p.needed && done->bytes_discarded == w.p.read - done->bytes_needed);
      CHECK(waiters.layers_ready() == w.p.layers);
    } else {
      ++(done.error().kind() == error_kind::cancelled ? count.cancelled : count.failed);
      CHECK(how.fault || how.cancel);
    }
  } catch (std::runtime_error const&) {
    threw = true;
    ++count.threw;
  }
  CHECK(storage.outstanding == 0);
  if constexpr (requires { device.pending(); }) CHECK(device.pending() == 0);
  if (stopper.joinable()) stopper.join();
  if (waiter.joinable()) {
    waiter.join();
    CHECK(layer_came || !ok);
  }
  CHECK(!threw || how.fault);
  for (int i = 0; threads() > before; ++i) {  // a joined thread may be listed a little longer
    CHECK(i < 1000);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return ok;
}

template <class Device>
void with_device(rng& r, support::random_world const& w, Device& device, conditions const& how) {
  long const calls = how.fault && how.serial && pick(r, 0, 1) ? static_cast<long>(pick(r, 0, 20)) : -1;
  switch (pick(r, 0, 2)) {
    case 0: {
      place_sink sink(w, how.serial, calls, r);
      if (load(r, w, device, sink, how)) sink.check_end();
      break;
    }
    case 1: {
      borrow_sink sink(w, how.serial, calls, r);
      if (load(r, w, device, sink, how)) sink.check_end();
      break;
    }
    case 2: {
      std::mutex m;
      std::vector<int> taken(w.want.size());
      auto sink = make_own_sink<patterned_memory>(w.p, [&](parameter const& p, owned_tensor<patterned_memory> t) {
        std::lock_guard const lock(m);
        auto const& want = w.want[index_of(p.id)];
        ++taken[index_of(p.id)];
        CHECK(t.size() == p.size && (want.empty() || std::memcmp(t.data(), want.data(), want.size()) == 0));
      });
      patterned_memory::until_none = how.fault && pick(r, 0, 1) ? static_cast<long>(pick(r, 0, 30)) : -1;
      if (load(r, w, device, sink, how))
        for (int n : taken) CHECK(n == 1);
      patterned_memory::until_none = -1;
      break;
    }
  }
}

void run(u32 seed) {
  rng r(seed);
  auto w = support::make_random_world(r);
  support::give_memory(w, pick(r, 1, 5), pick(r, 1, 3), pick(r, 1, 4), pick(r, 0, 8));
  if (auto const pre = detail::prepare(w.p); !pre) {
    std::fprintf(stderr, "seed %u: %s\n", seed, pre.error().what());
    std::abort();
  }
  conditions const how{pick(r, 0, 2) == 0, pick(r, 0, 3) == 0, pick(r, 0, 3) != 0};
  if (pick(r, 0, 2)) {
    u32 const delay = pick(r, 0, 2) ? pick(r, 0, 40) : 0;
    support::fake_async d(support::draw(r), delay,
                          how.fault && pick(r, 0, 3) == 0 ? pick(r, 1, 30) : support::fake_async::never);
    if (pick(r, 0, 3) == 0) d.reach();
    with_device(r, w, d, how);
  } else {
    device::host d;
    with_device(r, w, d, how);
  }
}
}  // namespace

int main(int argc, char** argv) {
  std::thread([] {}).join();  // some run-time libraries start a thread of their own at the first one
  u32 const first = argc > 1 ? static_cast<u32>(std::atoi(argv[1])) : 1,
            runs = argc > 2 ? static_cast<u32>(std::atoi(argv[2])) : 2000;
  for (seed_now = first; seed_now < first + runs; ++seed_now) run(seed_now);
  std::printf("%u runs: %llu good, %llu failed, %llu threw, %llu cancelled\n", runs,
              static_cast<unsigned long long>(count.good), static_cast<unsigned long long>(count.failed),
              static_cast<unsigned long long>(count.threw), static_cast<unsigned long long>(count.cancelled));
}
