#include "synth_shards.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <tuple>
#include <unordered_map>

#include <penstock/core/json_writer.hpp>

#include "synth_values.hpp"

using namespace penstock;

namespace {
using tensor_list = std::vector<inventory_tensor>;

bytes size_of(tensor_list const& tensors) {
  bytes all;
  for (auto const& t : tensors) all += t.size;
  return all;
}

/// The number of its layer, from 1; 0: it is in none.
u64 layer_of(std::string_view name) {
  for (auto at = name.find('.'); at != name.npos; at = name.find('.', at + 1)) {
    u64 n = 0;
    auto const [end, failed] = std::from_chars(name.data() + at + 1, name.data() + name.size(), n);
    if (failed == std::errc{} && end != name.data() + name.size() && *end == '.') return n + 1;
  }
  return 0;
}

/// What a tensor shares with its neighbours: "model.layers.3.self_attn.q_a_proj.weight" is in
/// "model.layers.3.self_attn", a ".weight".
std::string neighbourhood_of(std::string_view name) {
  auto const part = std::min(name.rfind('.'), name.size());
  auto const module = part ? name.rfind('.', part - 1) : name.npos;
  return std::string{name.substr(0, module == name.npos ? 0 : module)} + std::string{name.substr(part)};
}

result<std::vector<synth_shard>> empty_shards(tensor_list const& tensors, std::size_t count) {
  constexpr u64 usual = gibibytes(4).count;
  if (!count) count = std::clamp<u64>((size_of(tensors).count + usual - 1) / usual, 1, tensors.size());
  if (count > tensors.size())
    return error{error_kind::usage, "--shards: expected a number from 1 to " + std::to_string(tensors.size()) +
                                        ", that of the tensors, found " + std::to_string(count)};
  std::vector<synth_shard> shards(count);
  for (std::size_t i = 0; i < count; ++i) {
    char name[64];
    std::snprintf(name, sizeof name, "model-%05zu-of-%05zu.safetensors", i + 1, count);
    shards[i].name = count == 1 ? "model.safetensors" : name;
  }
  return shards;
}
}  // namespace

result<std::vector<synth_shard>> synth_shards(tensor_list tensors, std::size_t count) {
  auto shards = empty_shards(tensors, count);
  if (!shards) return shards;
  std::stable_sort(tensors.begin(), tensors.end(),
                   [](auto const& a, auto const& b) { return layer_of(a.name) < layer_of(b.name); });
  u64 const all = size_of(tensors).count;
  u64 done = 0;
  std::size_t at = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    std::size_t const behind = shards->size() - at - 1;  // files that are still empty, each of which gets a tensor
    bool const full = static_cast<double>(done) + static_cast<double>(tensors[i].size.count) / 2 >
                      static_cast<double>(all) / static_cast<double>(shards->size()) * static_cast<double>(at + 1);
    if (!(*shards)[at].tensors.empty() && behind && (full || tensors.size() - i == behind)) ++at;
    done += tensors[i].size.count;
    (*shards)[at].tensors.push_back(std::move(tensors[i]));
  }
  for (auto& s : *shards)
    std::sort(s.tensors.begin(), s.tensors.end(), [](auto const& a, auto const& b) {
      return std::tuple{bits_of(b.type), std::string_view{a.name}} <
             std::tuple{bits_of(a.type), std::string_view{b.name}};
    });
  return shards;
}

result<std::vector<synth_shard>> synth_shuffled_shards(tensor_list tensors, std::size_t count, u64 seed) {
  auto shards = empty_shards(tensors, count);
  if (!shards) return shards;
  std::unordered_map<std::string, std::size_t> next;
  for (auto& t : tensors) {
    auto const neighbourhood = neighbourhood_of(t.name);
    auto const [at, first] = next.try_emplace(neighbourhood, 0);
    if (first) at->second = synth_key(neighbourhood, seed) % shards->size();
    (*shards)[at->second++ % shards->size()].tensors.push_back(std::move(t));
  }
  for (auto& s : *shards) {
    if (s.tensors.empty()) {  // few tensors, many files: one of the longest file's
      auto& from = std::max_element(shards->begin(), shards->end(), [](auto const& a, auto const& b) {
                     return a.tensors.size() < b.tensors.size();
                   })->tensors;
      s.tensors.push_back(std::move(from.back()));
      from.pop_back();
    }
    std::sort(s.tensors.begin(), s.tensors.end(), [&](auto const& a, auto const& b) {
      return std::tuple{synth_key(a.name, seed), std::string_view{a.name}} <
             std::tuple{synth_key(b.name, seed), std::string_view{b.name}};
    });
  }
  return shards;
}

std::string header_of(synth_shard const& s) {
  std::string text(8, ' ');
  {
    penstock::detail::json_object header(text);
    {
      penstock::detail::json_object metadata(header.key("__metadata__"));
      metadata.add("format", "pt");
    }
    u64 at = 0;
    for (auto const& t : s.tensors) {
      penstock::detail::json_object o(header.key(t.name));
      o.add("dtype", name_of(t.type));
      o.add("shape", t.shape.extents());
      o.add("data_offsets", std::array{at, at + t.size.count});
      at += t.size.count;
    }
  }
  text.resize((text.size() + 7) / 8 * 8, ' ');
  u64 const length = text.size() - 8;
  std::memcpy(text.data(), &length, 8);
  return text;
}

std::string index_of(std::vector<synth_shard> const& shards) {
  bytes all;
  for (auto const& s : shards) all += size_of(s.tensors);
  std::string text;
  {
    penstock::detail::json_object index(text);
    {
      penstock::detail::json_object metadata(index.key("metadata"));
      metadata.add("total_size", all);
    }
    penstock::detail::json_object map(index.key("weight_map"));
    for (auto const& s : shards)
      for (auto const& t : s.tensors) map.add(t.name, s.name);
  }
  return text;
}
