#pragma once
/// A storage, a device and a sink that do nothing by themselves: the explorer says what happens next.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include <penstock/device/host.hpp>
#include <penstock/pipeline/sink.hpp>
#include <penstock/storage/backend.hpp>

#include "../support/plan_builder.hpp"

namespace explore {
using namespace penstock;

using support::blob;

[[noreturn]] inline void found(char const* what) {
  std::printf("FOUND: %s\n", what);
  std::exit(1);
}

inline bool overlap(std::byte const* a, std::size_t a_size, std::byte const* b, std::size_t b_size) {
  return a < b + b_size && b < a + a_size;
}

constexpr u32 slot_size = 32, page = 4096, most_lanes = 2;

/// What storage and device have under way; each checks that the other leaves its bytes alone.
struct traffic {
  struct work {
    std::vector<copy_op> ops;
    std::shared_ptr<bool> mark;
  };
  std::deque<work> streams[most_lanes];
  std::vector<scatter> writes;

  void do_next(std::size_t stream) {
    auto const w = std::move(streams[stream].front());
    streams[stream].pop_front();
    for (auto const& op : w.ops)
      for (auto const& to : writes)
        if (overlap(op.from, op.width, to.to, to.bytes)) found("a copy reads a slot that is being filled");
    (void)device::host::stream{}.copy(w.ops);
    if (w.mark) *w.mark = true;
  }
  void begin_write(scatter const& to) {
    for (auto const& stream : streams)
      for (auto const& w : stream)
        for (auto const& op : w.ops)
          if (overlap(op.from, op.width, to.to, to.bytes)) found("a slot is refilled before its copy was done");
    writes.push_back(to);
  }
  void end_write(scatter const& to) {
    auto const at =
        std::find_if(writes.begin(), writes.end(), [&](auto& w) { return w.to == to.to && w.bytes == to.bytes; });
    if (at == writes.end()) found("a write ended that had not begun");
    writes.erase(at);
  }
};

/// A device whose next copy is done when the explorer says so.
struct scripted_device {
  struct staging {
    std::byte* at;
    std::size_t bytes;
    std::byte* data() const { return at; }
    std::size_t size() const { return bytes; }
  };
  struct event {
    std::shared_ptr<bool> state = std::make_shared<bool>(true);
    traffic* of = nullptr;
    std::size_t stream = 0;
    bool state_now() const { return *state; }
    result<bool> done() { return *state; }
    result<void> wait() {
      while (!*state) {
        if (of->streams[stream].empty()) found("an event that nothing will complete");
        of->do_next(stream);
      }
      return {};
    }
  };
  struct stream {
    traffic* of;
    std::size_t number;
    result<void> copy(std::span<copy_op const> ops) {
      of->streams[number].push_back({{ops.begin(), ops.end()}, {}});
      return {};
    }
    result<void> mark(event& e) {
      e = {std::make_shared<bool>(false), of, number};
      of->streams[number].push_back({{}, e.state});
      return {};
    }
  };
  template <memory M>
  static constexpr bool writes = M::space == memory_space::host;

  bool direct = false;
  std::size_t staged = 0;
  result<staging> stage(bytes n) {
    static blob memory(2 * most_lanes * 2 * page);
    auto* const begin = memory.data() + page - reinterpret_cast<std::uintptr_t>(memory.data()) % page;
    return staging{begin + std::exchange(staged, staged + n.count), n.count};
  }
  result<stream> open_stream() { return stream{nullptr, 0}; }
  bool reaches(std::byte const*) const { return direct; }
  result<void> bind() { return {}; }
};

/// A storage whose reads arrive or fail when the explorer says so.
struct scripted_storage {
  struct object {
    blob content;
    bytes size() const { return bytes{content.size()}; }
    std::string version() const { return "1"; }
  };
  struct lane {
    struct outstanding {
      read_request<object> request;
      bool here = false, bad = false;
    };
    traffic* of = nullptr;
    unsigned wanted = 1;
    std::vector<outstanding> queue{};
    bool woken = false, polled = false;

    unsigned depth() const { return wanted; }
    void submit(read_request<object> const& r) {
      for (auto const& to : r.to) of->begin_write(to);
      queue.push_back({r});
    }
    void arrive(std::size_t i, bool bad) {
      auto& o = queue[i];
      o.here = true, o.bad = bad;
      auto const* from = o.request.from->content.data() + o.request.range.first.count;
      if (!bad)
        for (auto const& to : o.request.to) std::memcpy(to.to, from, to.bytes), from += to.bytes;
    }
    std::size_t wait(std::span<completion> out, std::chrono::microseconds most) {
      woken = false;
      polled = most.count() == 0;
      std::size_t n = 0;
      for (std::size_t i = 0; i < queue.size();) {
        auto& o = queue[i];
        if (!o.here) {
          ++i;
          continue;
        }
        for (auto const& to : o.request.to) of->end_write(to);
        out[n++] = {o.request.tag, 0, o.bad ? std::make_unique<error>(error_kind::transient, "scripted") : nullptr};
        queue.erase(queue.begin() + static_cast<long>(i));
      }
      return n;
    }
    void wake() noexcept { woken = true; }
    void cancel() noexcept {
      for (auto const& o : queue)
        for (auto const& to : o.request.to) of->end_write(to);
      queue.clear();
    }
    bytes transport_bytes() const { return {}; }
  };
  result<std::vector<object>> pin(uri const&, std::span<std::string const>) { return std::vector<object>{}; }
  result<std::vector<stored_object>> list(uri const&) { return std::vector<stored_object>{}; }
  result<std::unique_ptr<lane>> open_lane(std::span<object const>, unsigned, unsigned) {
    return std::make_unique<lane>();
  }
};
static_assert(storage_backend<scripted_storage> && device_backend<scripted_device>);

struct counting_sink {
  std::vector<blob> parameters;
  std::vector<int> announced;
  bool declines_first = false;
  placement destination(parameter const& p) {
    placement to;
    if (index_of(p.id) || !declines_first) to.at = parameters[index_of(p.id)].data();
    return to;
  }
  void ready(parameter const& p) { ++announced[index_of(p.id)]; }
};
}  // namespace explore
