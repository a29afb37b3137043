#pragma once
#include <vector>

#include <penstock/pipeline/sink.hpp>

#include "fake_storage.hpp"
#include "plan_builder.hpp"

namespace support {
/// Places every parameter tight in memory of its own and remembers what was announced, in order. For tests.
struct memory_sink {
  std::vector<blob> parameters;
  std::vector<u32> asked, announced, layers;

  explicit memory_sink(plan const& p) {
    for (auto const& q : p.parameters) parameters.emplace_back(q.size.count, untouched);
  }
  placement destination(parameter const& p) {
    asked.push_back(index_of(p.id));
    placement to;
    static std::byte nothing{};
    to.at = p.size.count ? parameters[index_of(p.id)].data() : &nothing;
    return to;
  }
  void ready(parameter const& p) { announced.push_back(index_of(p.id)); }
  void layer_ready(layer_id l) { layers.push_back(index_of(l)); }
};

inline std::vector<fake_storage::object> objects_of(std::vector<blob> const& content) {
  std::vector<fake_storage::object> all;
  for (auto const& c : content) all.push_back({c});
  return all;
}
/// Bytes of which no two neighbours are equal.
inline blob pattern(std::size_t n, u32 seed = 1) {
  blob b(n);
  for (std::size_t i = 0; i < n; ++i) b[i] = static_cast<std::byte>((i * 7 + i / 251 * 13 + seed) & 0xff);
  return b;
}
}  // namespace support
