#pragma once
// Ranges of one object over libcurl's multi interface with nothing around it: no checks, no retries.
#include <curl/curl.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include <penstock/core/bytes.hpp>

namespace benchmarks {
using penstock::u64;
inline constexpr u64 part = 8 << 20;  ///< bytes of a range
inline constexpr unsigned depth = 8;  ///< ranges at once, a connection each

/// Where the bytes of one range go.
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

/// The whole object at `url` into `memory`, with new connections. @returns whether all bytes came
inline bool bare_loop(std::string const& url, std::span<std::byte> memory) {
  CURLM* const multi = curl_multi_init();
  std::vector<target> targets(depth);
  std::vector<CURL*> easy(depth);
  u64 const reads = (memory.size() + part - 1) / part;
  u64 next = 0, done = 0;
  bool good = true;
  auto const begin = [&](CURL* c, target& t) {
    u64 const first = next++ * part, n = std::min<u64>(part, memory.size() - first);
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
}  // namespace benchmarks
