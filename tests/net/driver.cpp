/// The storage of Azure Blobs as a command, for tests that bring a server:
///
///     net_driver list URI
///     net_driver pin  URI NAME...
///     net_driver read URI NAME [OPTION...]       the whole object, in pieces, through one lane
///
/// Prints one JSON object. Options: --out FILE --chunk N --depth N --places N (a read scatters over so many)
/// --attempts N --base MS --first-byte MS --stall MS --connect MS --time MS --cancel MS --ca FILE --pause FILE
/// --first N --size N
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include <penstock/storage/azure_blob.hpp>

namespace {
using penstock::bytes;
using penstock::u64;
using blob = penstock::storage::azure_blob;

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) < 0x20) {
      char code[8];
      std::snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned>(static_cast<unsigned char>(c)));
      out += code;
    } else {
      out += c;
    }
  }
  return out + "\"";
}

int tell(penstock::error const& e) {
  auto const& w = e.where();
  std::printf("{\"error\": %s, \"message\": %s, \"uri\": %s, \"status\": %d, \"code\": %s, \"attempts\": %u",
              quoted(penstock::name_of(e.kind())).c_str(), quoted(e.message()).c_str(), quoted(w.uri).c_str(),
              w.http_status, quoted(w.store_code).c_str(), w.attempts);
  if (w.range)
    std::printf(", \"first\": %llu, \"size\": %llu", static_cast<unsigned long long>(w.range->first.count),
                static_cast<unsigned long long>(w.range->size.count));
  std::puts("}");
  return 1;
}

struct arguments {
  std::vector<std::string> words;
  std::map<std::string, std::string> options;

  [[nodiscard]] u64 number(char const* name, u64 otherwise) const {
    auto const at = options.find(name);
    return at == options.end() ? otherwise : std::strtoull(at->second.c_str(), nullptr, 10);
  }
  [[nodiscard]] std::string text(char const* name) const {
    auto const at = options.find(name);
    return at == options.end() ? std::string() : at->second;
  }
};

penstock::storage::azure_options options_of(arguments const& a) {
  using std::chrono::milliseconds;
  auto const ms = [&](char const* name, milliseconds otherwise) {
    return milliseconds(a.number(name, static_cast<u64>(otherwise.count())));
  };
  penstock::storage::azure_options o;
  auto& h = o.http;
  h.retry.attempts = static_cast<penstock::u32>(a.number("--attempts", h.retry.attempts));
  h.retry.base = ms("--base", h.retry.base);
  if (a.options.count("--base")) h.retry.throttled_base = h.retry.base, h.retry.cap = 10 * h.retry.base;
  h.retry.time = ms("--time", h.retry.time);
  h.first_byte = ms("--first-byte", h.first_byte);
  h.stall = ms("--stall", h.stall);
  h.connect = ms("--connect", h.connect);
  h.ca_file = a.text("--ca");
  return o;
}

/// The bytes around and inside each place, so that a byte written where none belongs is seen.
constexpr std::byte canary{0xa5};

int read_all(blob& store, penstock::uri const& root, arguments const& a) {
  auto const pinned = store.pin(root, std::span(&a.words[2], 1));
  if (!pinned) return tell(pinned.error());
  auto const& object = pinned->front();
  if (auto const file = a.text("--pause"); !file.empty()) {  // until somebody has changed the object
    std::printf("pinned\n");
    std::fflush(stdout);
    while (!std::ifstream(file)) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  auto const depth = static_cast<unsigned>(a.number("--depth", 4));
  u64 const begin = a.number("--first", 0), size = a.number("--size", object.size().count - begin);
  u64 const chunk = a.number("--chunk", 256 << 10), places = std::max<u64>(1, a.number("--places", 1));
  auto opened = store.open_lane(*pinned, 0, depth);
  if (!opened) return tell(opened.error());
  auto& lane = **opened;

  std::vector<std::byte> memory(size + 64, canary);
  std::vector<std::vector<penstock::scatter>> lists((size + chunk - 1) / chunk);
  u64 retries = 0, next = 0, outstanding = 0;
  unsigned lowest = lane.depth();
  auto const submit = [&] {
    u64 const at = next * chunk, n = std::min(chunk, size - at);
    auto& list = lists[next];
    for (u64 k = 0; k < places; ++k) {
      u64 const from = n * k / places, to = n * (k + 1) / places;
      list.push_back({memory.data() + 32 + at + from, to - from});
    }
    penstock::read_request<penstock::net::http_object> r;
    r.from = &object;
    r.range = {bytes{begin + at}, bytes{n}};
    r.to = list;
    r.tag = static_cast<penstock::u32>(next++);
    lane.submit(r);
    ++outstanding;
  };
  bool stop = false;
  std::chrono::steady_clock::time_point asked;
  std::thread canceller;
  if (u64 const ms = a.number("--cancel", 0))
    canceller = std::thread([&lane, &asked, ms] {
      std::this_thread::sleep_for(std::chrono::milliseconds(ms));
      asked = std::chrono::steady_clock::now();
      lane.wake();
    });
  std::unique_ptr<penstock::error> failed;
  while ((next < lists.size() || outstanding) && !stop && !failed) {
    while (next < lists.size() && outstanding < lane.depth()) submit();
    penstock::completion done[8];
    std::size_t const n = lane.wait(done, std::chrono::seconds(60));
    for (std::size_t i = 0; i < n; ++i) {
      retries += done[i].retries;
      if (done[i].failed) failed = std::move(done[i].failed);
      --outstanding;
    }
    lowest = std::min(lowest, lane.depth());
    stop = canceller.joinable() && n == 0;
  }
  lane.cancel();
  auto const ended = std::chrono::steady_clock::now();
  if (canceller.joinable()) canceller.join();
  if (failed) return tell(*failed);
  if (stop) {
    auto const before = memory;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    penstock::completion none[1];
    lane.wait(none, std::chrono::milliseconds(20));
    std::printf("{\"cancelled_ms\": %.3f, \"quiet\": %s}\n",
                std::chrono::duration<double, std::milli>(ended - asked).count(), before == memory ? "true" : "false");
    return 0;
  }
  bool around = true;
  for (std::size_t i = 0; i < 32; ++i) around &= memory[i] == canary && memory[size + 32 + i] == canary;
  if (auto const file = a.text("--out"); !file.empty())
    std::ofstream(file, std::ios::binary)
        .write(reinterpret_cast<char const*>(memory.data() + 32), static_cast<std::streamsize>(size));
  std::printf("{\"bytes\": %llu, \"retries\": %llu, \"lowest_depth\": %u, \"canary\": %s}\n",
              static_cast<unsigned long long>(size), static_cast<unsigned long long>(retries), lowest,
              around ? "true" : "false");
  return around ? 0 : 3;
}

int list_all(blob& store, penstock::uri const& root) {
  auto found = store.list(root);
  if (!found) return tell(found.error());
  std::sort(found->begin(), found->end(), [](auto const& x, auto const& y) { return x.name < y.name; });
  std::printf("{\"files\": {");
  for (std::size_t i = 0; i < found->size(); ++i)
    std::printf("%s%s: %llu", i ? ", " : "", quoted((*found)[i].name).c_str(),
                static_cast<unsigned long long>((*found)[i].size.count));
  std::puts("}}");
  return 0;
}

int pin_all(blob& store, penstock::uri const& root, std::vector<std::string> const& words) {
  auto const pinned = store.pin(root, std::span(words).subspan(2));
  if (!pinned) return tell(pinned.error());
  std::printf("{\"objects\": [");
  for (std::size_t i = 0; i < pinned->size(); ++i)
    std::printf("%s{\"name\": %s, \"size\": %llu, \"version\": %s}", i ? ", " : "",
                quoted((*pinned)[i].shown()).c_str(), static_cast<unsigned long long>((*pinned)[i].size().count),
                quoted((*pinned)[i].version()).c_str());
  std::puts("]}");
  return 0;
}
}  // namespace

int main(int argc, char** argv) {
  arguments a;
  for (int i = 1; i < argc; ++i)
    if (std::strncmp(argv[i], "--", 2) == 0 && i + 1 < argc) a.options[argv[i]] = argv[i + 1], ++i;
    else a.words.emplace_back(argv[i]);
  if (a.words.size() < 2) {
    std::fputs("usage: net_driver list|pin|read URI [NAME...] [--OPTION VALUE...]\n", stderr);
    return 2;
  }
  auto const root = penstock::uri::parse(a.words[1]);
  if (!root) return tell(root.error());
  blob store(options_of(a));
  if (a.words[0] == "list") return list_all(store, *root);
  if (a.words[0] == "pin") return pin_all(store, *root, a.words);
  if (a.words[0] == "read" && a.words.size() > 2) return read_all(store, *root, a);
  return 2;
}
