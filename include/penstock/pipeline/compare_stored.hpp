#pragma once
#include <algorithm>
#include <cstring>
#include <map>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include <penstock/format/checkpoint.hpp>
#include <penstock/plan/stored_again.hpp>
#include <penstock/storage/read_ranges.hpp>

PENSTOCK_BEGIN
/// What was compared.
struct comparison {
  u64 tensors = 0;  ///< that say again what others say
  bytes read;       ///< of them and of their originals
};

/// Reads what a checkpoint stores again, and compares it.
///
/// @errors config: a copy differs from its original, or a size from config.json; and those of the store
/// @blocks on the store
/// @cost   a copy and its original are read whole, in blocks of at most a MiB; sizes that lie close, by one read
template <storage_backend S>
result<comparison> compare_stored(S& store, std::span<typename S::object const> objects, checkpoint const& weights,
                                  stored_again const& again, std::stop_token stop = {}) {
  constexpr bytes block = mebibytes(1);
  comparison done;
  auto const range_of = [&](u32 tensor, bytes first, bytes size) {
    auto const& t = weights.tensors[tensor];
    done.read += size;
    return wanted_range{index_of(t.shard), {t.where.first + first, size}};
  };
  auto const no = [&](u32 tensor, std::string const& found) {
    auto const& t = weights.tensors[tensor];
    return error{error_kind::config,
                 "tensor \"" + t.name + "\" in " + weights.shards[index_of(t.shard)].name + ": expected " + found +
                     "; config.json and the weights must belong to one model",
                 {.uri = weights.uri, .tensor = t.name, .range = t.where}};
  };

  // A block of a copy and the same of its original are asked for next to each other; the first to come waits.
  std::vector<wanted_range> ranges;
  std::vector<std::pair<u32, bytes>> pairs;  // of each two ranges: the copy, and where in it
  for (auto const& c : again.copies) {
    bytes const size = weights.tensors[c.tensor].where.size;
    for (bytes first; first < size; first += block) {
      auto const n = std::min(block, size - first);
      ranges.push_back(range_of(c.tensor, first, n)), ranges.push_back(range_of(c.of, first, n));
      pairs.emplace_back(static_cast<u32>(&c - again.copies.data()), first);
    }
  }
  std::map<std::size_t, std::vector<std::byte>> waiting;  // by pair; never more than there are reads at once
  auto const compare = [&](std::size_t i, std::span<std::byte const> content) -> result<void> {
    auto const [at, first] = waiting.try_emplace(i / 2, content.begin(), content.end());
    if (first) return {};
    auto const other = std::move(at->second);
    waiting.erase(at);
    if (std::equal(other.begin(), other.end(), content.begin(), content.end())) return {};
    auto const& [copy, from] = pairs[i / 2];
    auto const differ = std::mismatch(other.begin(), other.end(), content.begin()).first - other.begin();
    auto const& c = again.copies[copy];
    return no(c.tensor, "the bytes of \"" + weights.tensors[c.of].name + "\", of which it is a copy by config.json, " +
                            "found another at byte " + std::to_string(from.count + static_cast<u64>(differ)));
  };
  if (auto r = read_ranges(store, objects, ranges, compare, {.stop = stop}); !r) return std::move(r).error();

  auto sizes = again.sizes;
  auto const place = [&](auto const& s) {
    auto const& t = weights.tensors[s.tensor];
    return std::pair{t.shard, t.where.first};
  };
  std::sort(sizes.begin(), sizes.end(), [&](auto const& a, auto const& b) { return place(a) < place(b); });
  bytes const gap = traits_of(store).gap;
  ranges.clear();
  std::vector<std::size_t> first_of;  // of each range, the first of its sizes
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    auto const& t = weights.tensors[sizes[i].tensor];
    if (!ranges.empty() && ranges.back().object == index_of(t.shard)) {
      auto& r = ranges.back().range;
      if (t.where.end() - r.first <= block && t.where.first - r.end() <= gap) {
        done.read += t.where.end() - r.end();
        r.size = t.where.end() - r.first;
        continue;
      }
    }
    ranges.push_back(range_of(sizes[i].tensor, bytes{}, t.where.size)), first_of.push_back(i);
  }
  first_of.push_back(sizes.size());
  auto const read_sizes = [&](std::size_t i, std::span<std::byte const> content) -> result<void> {
    for (auto s = first_of[i]; s < first_of[i + 1]; ++s) {
      auto const& t = weights.tensors[sizes[s].tensor];
      auto const wide = t.type == dtype::int64;
      auto const* at = content.data() + (t.where.first - ranges[i].range.first).count;
      std::array<u64, 2> found{};
      for (unsigned d = 0; d < 2; ++d) {
        u32 narrow = 0;
        if (wide) std::memcpy(&found[d], at + 8 * d, 8);
        else std::memcpy(&narrow, at + 4 * d, 4), found[d] = narrow;
      }
      auto const& want = sizes[s].expected;
      if (found != want)
        return no(sizes[s].tensor, to_string(shape{want[0], want[1]}) + " by config.json, found " +
                                       to_string(shape{found[0], found[1]}));
    }
    return {};
  };
  if (auto r = read_ranges(store, objects, ranges, read_sizes, {.stop = stop}); !r) return std::move(r).error();
  done.tensors = again.copies.size() + again.sizes.size();
  return done;
}
PENSTOCK_END
