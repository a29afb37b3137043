#pragma once
#include <algorithm>
#include <memory>
#include <new>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include <penstock/storage/backend.hpp>

PENSTOCK_BEGIN
/// A range of the object with this index in a list of pinned objects.
struct wanted_range {
  std::size_t object = 0;
  byte_range range;
};

/// How `read_ranges` reads.
struct read_ranges_options {
  unsigned depth = 8;               ///< most reads at a time
  bytes in_flight = mebibytes(16);  ///< most bytes of them; a range that is larger is read alone
  std::stop_token stop{};
};

namespace detail {
/// Buffers of reads under way. They are freed after the lane has let go of them.
template <storage_backend S>
struct small_reads {
  struct buffer {
    std::unique_ptr<std::byte[]> data;
    scatter place;
    std::size_t index;
  };
  ~small_reads() { lane->cancel(); }
  small_reads(std::unique_ptr<typename S::lane> l, unsigned depth) : lane(std::move(l)), busy(depth) {}
  small_reads(small_reads const&) = delete;
  small_reads& operator=(small_reads const&) = delete;

  std::unique_ptr<typename S::lane> lane;
  std::vector<std::optional<buffer>> busy;  // by tag
};
}  // namespace detail

/// Reads ranges outside of a load, such as headers and configuration files, in the caller's thread.
///
/// One lane with several reads outstanding; no thread is started.
///
/// @param take    `result<void> take(std::size_t index, std::span<std::byte const> content)`: called for each range when
///                it has come, in any order; the bytes are gone when it returns; its error ends the reading
/// @errors  those of the store and of `take`; memory; cancelled
/// @blocks  on the store
/// @cost    at most `in_flight` bytes, or one range, and the lane's own buffers
template <storage_backend S, class Take>
result<void> read_ranges(S& store, std::span<typename S::object const> objects, std::span<wanted_range const> ranges,
                         Take&& take, read_ranges_options const& how = {}) {
  if (ranges.empty()) return {};
  unsigned const depth = std::max(1u, std::min(how.depth, traits_of(store).depth));
  auto opened = store.open_lane(objects, 0u, depth);
  if (!opened) return std::move(opened).error();
  detail::small_reads<S> reads{*std::move(opened), depth};
  std::stop_callback const stop{how.stop, [&l = *reads.lane]() noexcept { l.wake(); }};

  std::size_t next = 0, left = ranges.size();
  unsigned outstanding = 0;
  bytes in_flight;
  std::vector<completion> done(depth);
  while (left) {
    if (how.stop.stop_requested())
      return error{error_kind::cancelled, "stopped on request while small files were read"};
    while (next < ranges.size() && outstanding < std::max(1u, std::min(depth, unsigned{reads.lane->depth()}))) {
      auto const& want = ranges[next];
      if (outstanding && in_flight + want.range.size > how.in_flight) break;
      auto const tag =
          static_cast<u32>(std::find(reads.busy.begin(), reads.busy.end(), std::nullopt) - reads.busy.begin());
      auto const n = static_cast<std::size_t>(want.range.size.count);
      std::unique_ptr<std::byte[]> memory{new (std::nothrow) std::byte[n]};
      if (!memory)
        return error{error_kind::memory,
                     "no memory for the " + std::to_string(n) + " bytes of a small file",
                     {.range = want.range}};
      auto& b = reads.busy[tag].emplace();
      b.place = {memory.get(), n};
      b.data = std::move(memory);
      b.index = next++;
      reads.lane->submit({.from = &objects[want.object], .range = want.range, .to = {&b.place, 1}, .tag = tag});
      ++outstanding;
      in_flight += want.range.size;
    }
    auto const count = reads.lane->wait(done, std::chrono::milliseconds{100});
    for (std::size_t i = 0; i < count; ++i) {
      if (done[i].failed) return std::move(*done[i].failed);
      auto const b = std::move(*reads.busy[done[i].tag]);
      reads.busy[done[i].tag].reset();
      --outstanding;
      --left;
      in_flight -= ranges[b.index].range.size;
      if (result<void> taken = take(b.index, std::span<std::byte const>{b.data.get(), b.place.bytes}); !taken)
        return taken;
    }
  }
  return {};
}

/// One object whole. @errors as read_ranges
template <storage_backend S>
result<std::string> read_whole(S& store, typename S::object const& object, read_ranges_options const& how = {}) {
  wanted_range const all{0, {bytes{}, object.size()}};
  std::string content;
  auto const keep = [&](std::size_t, std::span<std::byte const> b) -> result<void> {
    content.assign(reinterpret_cast<char const*>(b.data()), b.size());
    return {};
  };
  if (auto done = read_ranges(store, {&object, 1}, {&all, 1}, keep, how); !done) return std::move(done).error();
  return content;
}
PENSTOCK_END
