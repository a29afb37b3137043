#pragma once
#include <array>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <penstock/plan/landing.hpp>
#include <penstock/plan/schemes.hpp>

PENSTOCK_BEGIN
/// What a checkpoint has and no parameter needs, as it says again what other tensors or config.json say.
struct stored_again {
  /// A tensor that must equal another, byte for byte: a tied head. Both by their place in checkpoint.tensors.
  struct copy {
    u32 tensor = 0, of = 0;
  };
  /// A tensor of two integers, the rows and columns of a linear that is stored packed.
  struct size {
    u32 tensor = 0;
    std::array<u64, 2> expected{};
  };
  std::vector<copy> copies{};
  std::vector<size> sizes{};
};

/// Finds it, by the map. No tensor byte is read.
///
/// @param quant   a scheme of the map; empty: what the config declares
/// @errors config, usage: as make_plan; config: a copy of another dtype or shape, or a size that is not two integers
/// @threads any
/// @cost   one look-up for each tensor
inline result<stored_again> find_stored_again(checkpoint const& weights, model_config const& config,
                                              map_view const& map, std::string_view quant = {}) {
  stored_again found;
  if (map.identity()) return found;
  auto const bound = detail::bound_map::bind(map, config, weights.tensors);
  if (!bound) return bound.error();
  auto const schemes = detail::scheme_choice::make(*bound, config, quant);
  if (!schemes) return schemes.error();
  auto const contradiction = [&](checkpoint_tensor const& t, std::string const& expected) {
    return error{error_kind::config,
                 "tensor \"" + t.name + "\" in " + weights.shards[index_of(t.shard)].name + ": expected " + expected +
                     ", found " + std::string{name_of(t.type)} + " " + to_string(t.shape) +
                     "; config.json and the weights must belong to one model",
                 {.uri = weights.uri, .tensor = t.name, .range = t.where}};
  };

  std::map<std::string_view, u32> originals;  // by the parameter that others are tied to
  for (std::size_t i = 0; i < bound->bound().size(); ++i)
    if (auto const& r = map.rules()[i]; bound->bound()[i].active && !r.tied_to.empty())
      originals.emplace(r.tied_to, ~u32{});
  for (u32 i = 0; i < weights.tensors.size(); ++i) {
    auto const& t = weights.tensors[i];
    auto const& h = bound->hits()[i];
    if (!h) continue;
    auto const& r = bound->rule_of(h->line);
    if (!r.tied_to.empty()) {
      found.copies.push_back({i, 0});
    } else if (r.live() && !originals.empty()) {
      auto const target = arch::target_of(r, bound->suffix_of(h->line));
      if (auto const o = originals.find(target.view()); o != originals.end()) o->second = i;
    }
    if (!r.live() || r.what != arch::rule::linear) continue;
    auto const& b = bound->bound_of(h->line);
    auto const p = detail::part_of(*bound, h->line, schemes->of(map.lines()[h->line].rule, h->index[0] - b.lo[0]));
    if (!p || p->what != quant::part::note) continue;
    if ((t.type != dtype::int32 && t.type != dtype::int64) || !(t.shape == shape{2}))
      return contradiction(t, "I32 or I64 [2]");
    found.sizes.push_back({i, {b.n, b.k}});
  }
  std::size_t kept = 0;
  for (auto& c : found.copies) {
    auto const& t = weights.tensors[c.tensor];
    auto const o = originals.find(bound->rule_of(bound->hits()[c.tensor]->line).tied_to);
    if (o == originals.end() || o->second == ~u32{}) continue;  // make_plan says what is missing
    c.of = o->second;
    auto const& original = weights.tensors[c.of];
    if (t.type != original.type || !(t.shape == original.shape))
      return contradiction(t, "a copy of \"" + original.name + "\", " + std::string{name_of(original.type)} + " " +
                                  to_string(original.shape));
    found.copies[kept++] = c;
  }
  found.copies.resize(kept);
  return found;
}
PENSTOCK_END
