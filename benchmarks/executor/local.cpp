/// A local file into host parameters, against plain `pread` of the same bytes with as many threads into one buffer.
///
///   local FILE [--rounds N] [--json FILE]      FILE is best in tmpfs, of 1 GiB or more
///
/// Build with -DNDEBUG; a checked build fills each slot with 0xff when its lease ends, and is not what is measured.
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <thread>

#include <penstock/device/host.hpp>
#include <penstock/storage/local.hpp>
#include "../compare.hpp"
#include "even_plan.hpp"

namespace {
using namespace benchmarks;

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

void compare_with_pread(std::string const& path, arguments const& a) {
  storage::local storage;
  device::host device;
  auto const slash = path.rfind('/');
  std::string const name[1] = {path.substr(slash + 1)};
  auto objects = storage.pin(uri::parse(path.substr(0, slash)).value(), name);
  if (!objects) std::fprintf(stderr, "%s\n", objects.error().what()), std::exit(1);
  constexpr u32 mib = 1 << 20;
  u64 const total = (*objects)[0].size().count / (4 * mib) * (4 * mib);
  int const file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  auto memory = device::host_pages::allocate(bytes{total}).value();
  std::memset(memory.data(), 1, total);
  array_sink sink{memory.data()};

  struct way {
    char const* name;
    u32 slot, places;
    bytes direct_above;
    must least;
  };
  way const ways[] = {
      {"direct, 4 MiB", 4 * mib, 1, bytes{1024}, {.throughput = 0.97, .cpu = 1 / 0.97}},
      {"direct, 32 places a read", 4 * mib, 32, bytes{1024}, {.throughput = 0.97, .cpu = 1 / 0.97}},
      {"slots of 4 MiB", 4 * mib, 1, never_direct, {.throughput = 0.9, .cpu = 1 / 0.9}},
      {"slots of 4 MiB, 32 places a read", 4 * mib, 32, never_direct, {.throughput = 0.9, .cpu = 1 / 0.9}},
      {"slots of 1 MiB", mib, 1, never_direct, {.throughput = 0.9, .cpu = 1 / 0.9}}};
  for (u32 threads : {1u, 2u}) {
    std::string const of = threads == 1 ? "local file, 1 thread" : "local file, 2 threads";
    comparison table(of, static_cast<double>(total) / 1e9, "GB");
    table.add("pread of 4 MiB into one buffer", [&] { plain_reads(file, memory.data(), total, threads, 4 * mib); });
    for (auto const& w : ways) {
      auto p = even_plan(total, w.slot, w.places, true);
      give_memory(p, threads, 2, w.slot);
      load_options o;
      o.direct_above = w.direct_above;
      table.add(
          w.name, [&, p, o] { must_load(storage, device, p, *objects, sink, o); }, w.least);
    }
    table.run(a);
  }
  ::close(file);
}
}  // namespace

int main(int argc, char** argv) {
  arguments const a(argc, argv);
  if (a.own.size() != 1 || a.own[0].find('/') == std::string::npos)
    return std::fputs("usage: local /FOLDER/FILE [--rounds N] [--json FILE]\n", stderr), 2;
  compare_with_pread(a.own[0], a);
}
