/// The HTTP lane of `net` alone against a bare libcurl loop: same server, same ranges, same buffers.
///
///   lane URL BYTES [--rounds N] [--json FILE]      an object of BYTES bytes on a server that honours Range
///
/// Both read ranges of 8 MiB with 8 connections and 512 KiB buffers into memory that was touched before.
#include <chrono>
#include <cstdlib>

#include <penstock/net/http_lane.hpp>
#include "../compare.hpp"
#include "bare_loop.hpp"

namespace {
using namespace benchmarks;
using penstock::bytes;

bool through_the_lane(std::string const& url, std::span<std::byte> memory) {
  using penstock::net::http_lane;
  using penstock::net::http_object;
  std::vector<http_object> const objects{{url, "object", bytes{memory.size()}, "", nullptr}};
  auto opened = http_lane::open(objects, {}, 0, depth);
  if (!opened) return std::fprintf(stderr, "%s\n", opened.error().what()), false;
  u64 const reads = (memory.size() + part - 1) / part;
  std::vector<penstock::scatter> places(reads);
  u64 next = 0, done = 0;
  while (done < reads) {
    for (; next < reads && next - done < depth; ++next) {
      u64 const first = next * part, n = std::min<u64>(part, memory.size() - first);
      places[next] = {memory.data() + first, n};
      penstock::read_request<http_object> r;
      r.from = objects.data();
      r.range = {bytes{first}, bytes{n}};
      r.to = {&places[next], 1};
      (*opened)->submit(r);
    }
    penstock::completion out[depth];
    std::size_t const n = (*opened)->wait(out, std::chrono::seconds(10));
    for (std::size_t i = 0; i < n; ++i)
      if (out[i].failed) return std::fprintf(stderr, "%s\n", out[i].failed->what()), false;
    done += n;
  }
  return true;
}
}  // namespace

int main(int argc, char** argv) {
  arguments const a(argc, argv);
  if (a.own.size() != 2) return std::fputs("usage: lane URL BYTES [--rounds N] [--json FILE]\n", stderr), 2;
  std::string const& url = a.own[0];
  std::vector<std::byte> memory(std::strtoull(a.own[1].c_str(), nullptr, 10), std::byte{1});
  auto const all_came = [](bool good) {
    if (!good) std::fputs("a read failed\n", stderr), std::exit(1);
  };
  comparison table("HTTP lane from " + url, static_cast<double>(memory.size()) / 1e9, "GB");
  table.add("bare libcurl loop", [&] { all_came(bare_loop(url, memory)); });
  table.add("http_lane", [&] { all_came(through_the_lane(url, memory)); }, {.throughput = 0.95, .cpu = 1.1});
  table.run(a);
}
