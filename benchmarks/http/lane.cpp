/// What the HTTP lane costs beside a bare libcurl loop: CPU seconds of this process for each GB, same server, same ranges.
///
///     lane URL BYTES [ROUNDS]      an object of BYTES bytes on a server that honours Range
///
/// Both read ranges of 8 MiB with 8 connections and 512 KiB buffers into memory that was touched before. Rounds alternate;
/// the best and the median of each are printed, and their ratio.
#include <curl/curl.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <penstock/net/http_lane.hpp>

namespace {
using penstock::bytes;
using penstock::u64;
constexpr u64 part = 8 << 20;
constexpr unsigned depth = 8;

double cpu_seconds() {
  rusage u{};
  getrusage(RUSAGE_SELF, &u);
  auto const s = [](timeval const& t) { return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec); };
  return s(u.ru_utime) + s(u.ru_stime);
}

/// Ranges through the lane.
bool lane_round(std::string const& url, std::vector<std::byte>& memory) {
  using penstock::net::http_lane;
  using penstock::net::http_object;
  std::vector<http_object> const objects{{url, "object", bytes{memory.size()}, "", nullptr}};
  auto opened = http_lane::open(objects, {}, 0, depth);
  if (!opened) return false;
  u64 const reads = (memory.size() + part - 1) / part;
  std::vector<penstock::scatter> places(reads);
  u64 next = 0, done = 0;
  while (done < reads) {
    for (; next < reads && next - done < depth; ++next) {
      u64 const first = next * part, n = std::min(part, memory.size() - first);
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

struct target {
  std::byte* to = nullptr;
  u64 left = 0;
  static std::size_t take(char* p, std::size_t, std::size_t n, void* self) {
    auto& t = *static_cast<target*>(self);
    if (n > t.left) return 0;
    std::memcpy(t.to, p, n);
    t.to += n;
    t.left -= n;
    return n;
  }
};

/// The same ranges with nothing but libcurl: no checks, no retries.
bool bare_round(std::string const& url, std::vector<std::byte>& memory) {
  CURLM* const multi = curl_multi_init();
  std::vector<target> targets(depth);
  std::vector<CURL*> easy(depth);
  u64 const reads = (memory.size() + part - 1) / part;
  u64 next = 0, done = 0;
  bool good = true;
  auto const begin = [&](CURL* c, target& t) {
    u64 const first = next++ * part, n = std::min(part, memory.size() - first);
    t = {memory.data() + first, n};
    char range[64];
    std::snprintf(range, sizeof range, "%llu-%llu", static_cast<unsigned long long>(first),
                  static_cast<unsigned long long>(first + n - 1));
    curl_easy_setopt(c, CURLOPT_RANGE, range);
    curl_multi_add_handle(multi, c);
  };
  for (unsigned i = 0; i < depth; ++i) {
    CURL* const c = easy[i] = curl_easy_init();
    curl_easy_setopt(c, CURLOPT_URL, url.c_str());
    curl_easy_setopt(c, CURLOPT_BUFFERSIZE, 512L << 10);
    curl_easy_setopt(c, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
    curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, &target::take);
    curl_easy_setopt(c, CURLOPT_WRITEDATA, &targets[i]);
    curl_easy_setopt(c, CURLOPT_PRIVATE, &targets[i]);
    if (next < reads) begin(c, targets[i]);
  }
  while (done < reads && good) {
    int running = 0, left = 0;
    curl_multi_perform(multi, &running);
    while (auto* m = curl_multi_info_read(multi, &left)) {
      char* self = nullptr;
      curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &self);
      auto& t = *reinterpret_cast<target*>(self);
      good &= m->data.result == CURLE_OK && t.left == 0;
      ++done;
      CURL* const c = m->easy_handle;
      curl_multi_remove_handle(multi, c);
      if (next < reads) begin(c, t);
    }
    if (done < reads) curl_multi_poll(multi, nullptr, 0, 1000, nullptr);
  }
  for (CURL* c : easy) {
    curl_multi_remove_handle(multi, c);
    curl_easy_cleanup(c);
  }
  curl_multi_cleanup(multi);
  return good;
}
}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return std::fputs("usage: lane URL BYTES [ROUNDS]\n", stderr), 2;
  curl_global_init(CURL_GLOBAL_DEFAULT);
  std::vector<std::byte> memory(std::strtoull(argv[2], nullptr, 10), std::byte{1});
  double const gigabytes = static_cast<double>(memory.size()) * 1e-9;
  std::vector<double> costs[2];
  for (int round = 0; round < (argc > 3 ? std::atoi(argv[3]) : 9); ++round)
    for (int which : {0, 1}) {
      double const before = cpu_seconds();
      if (!(which ? lane_round(argv[1], memory) : bare_round(argv[1], memory)))
        return std::fputs("the server did not bring the ranges\n", stderr), 1;
      costs[which].push_back((cpu_seconds() - before) / gigabytes);
    }
  for (auto& c : costs) std::sort(c.begin(), c.end());
  auto const line = [&](char const* name, std::vector<double> const& c) {
    std::printf("%-10s CPU s/GB: best %.3f, median %.3f\n", name, c.front(), c[c.size() / 2]);
  };
  line("bare loop", costs[0]);
  line("lane", costs[1]);
  std::printf("lane / bare loop: best %.2f, median %.2f\n", costs[1].front() / costs[0].front(),
              costs[1][costs[1].size() / 2] / costs[0][costs[0].size() / 2]);
}
