#pragma once
#include <algorithm>
#include <chrono>
#include <span>
#include <tuple>
#include <unordered_set>

#include <penstock/core/hash.hpp>
#include <penstock/core/separate.hpp>
#include <penstock/plan/make_plan.hpp>
#include <penstock/plan/planner.hpp>

#include <penstock/plan/planner.ipp>
#include <penstock/plan/planner_derived.hpp>
#include <penstock/plan/planner_padding.hpp>

PENSTOCK_BEGIN
namespace detail {
/// Hash of what a plan is made from, without the rank: ranks that agree on it agree on the plan.
PENSTOCK_INLINE u64 hash_of_inputs(checkpoint const& weights, model_config const& config,
                                   std::span<map_view const> maps, topology const& at, plan_options const& o) {
  u64 hash = 0;
  auto const number = [&](u64 n) { hash = hash_of(hash, n); };
  auto const text = [&](std::string_view t) { number(hash_of(t)); };
  number(u64{PENSTOCK_VERSION_MAJOR} << 32 | u64{PENSTOCK_VERSION_MINOR} << 16 | PENSTOCK_VERSION_PATCH);
  for (auto const& s : weights.shards)
    text(s.name), number(s.size.count), text(s.version), number(s.rank ? u64{*s.rank} + 1 : 0);
  for (auto const& t : weights.tensors) {
    text(t.name), number(static_cast<u64>(t.type)), number(index_of(t.shard));
    number(t.where.first.count), number(t.where.size.count), number(t.shape.rank());
    for (auto const e : t.shape.extents()) number(e);
  }
  number(config.fingerprint()), text(o.quant);
  for (auto const& map : maps) {
    text(map.arch_name());
    for (auto const& s : map.schemes()) text(s.name);
    for (auto const& r : map.rules()) {
      auto const from = arch::name_of(r), to = arch::target_of(r);
      text(from.view()), text(to.view());
      number(static_cast<u64>(r.how)), number(static_cast<u64>(r.over)), number(static_cast<u64>(r.at));
      number(u64{r.padded} << 24 | u64{r.blocks} << 16 | u64{r.piece} << 8 | r.pieces);
      number(r.share_unit.terms[0].factor);
    }
  }
  for (u64 const n : {at.tp, at.ep, at.pp}) number(n);
  for (auto const& g : at.groups) number(g ? g->size : 0);
  for (u32 const n : at.stage_layers) number(n);
  for (auto const& t : at.experts) {
    number(t.layer ? u64{*t.layer} + 1 : 0);
    for (auto const& block : t.blocks) {
      number(block.size());
      for (u32 const e : block) number(e);
    }
  }
  for (u64 const n : {o.memory_limit.count, o.slot.count, u64{o.lanes}, o.storage.gap.count, u64{o.rotate}}) number(n);
  return hash;
}

PENSTOCK_INLINE result<void> check_topology(topology const& at) {
  auto no = [](std::string expected, std::string found) {
    return error{error_kind::plan, "expected " + std::move(expected) + ", found " + std::move(found)};
  };
  if (!at.tp || !at.ep || !at.pp)
    return no("tp, ep and pp of at least 1",
              "tp " + std::to_string(at.tp) + ", ep " + std::to_string(at.ep) + ", pp " + std::to_string(at.pp));
  if (at.tp % at.ep)
    return no("an ep that divides tp " + std::to_string(at.tp),
              "ep " + std::to_string(at.ep) + "; sizes that would do: " + divisors_of(at.tp));
  if (at.rank >= at.ranks()) return no("a rank below " + std::to_string(at.ranks()), "rank " + std::to_string(at.rank));
  for (auto const& g : at.groups)
    if (g && (!g->size || g->rank >= g->size))
      return no("a place inside its group of ranks",
                "rank " + std::to_string(g->rank) + " of " + std::to_string(g->size));
  if (!at.stage_layers.empty() &&
      (at.stage_layers.size() != at.pp || std::count(at.stage_layers.begin(), at.stage_layers.end(), 0u)))
    return no("at least one layer for each of " + std::to_string(at.pp) + " pipeline stages",
              "numbers of layers for " + std::to_string(at.stage_layers.size()) +
                  (at.stage_layers.size() == at.pp ? ", and a zero among them" : ""));
  return {};
}

/// Are files that hold one rank each taken as they are, and by as many ranks?
PENSTOCK_INLINE result<void> check_ranks(checkpoint const& weights, std::span<map_view const> maps,
                                         topology const& at) {
  if (weights.shards.empty() || !weights.shards.back().rank) return {};
  u32 const ranks = *weights.shards.back().rank + 1;
  if (ranks != at.ranks())
    return error{error_kind::plan, "expected " + std::to_string(ranks) +
                                       " ranks (tp x pp), as many as have files, found " + std::to_string(at.ranks())};
  for (auto const& map : maps)
    if (!map.identity())
      return error{error_kind::plan, "expected files of single ranks to be taken as stored, found architecture " +
                                         std::string{map.arch_name()} + "; choose --arch as_stored"};
  return {};
}

/// Every tensor is a parameter of the same name, whole: all of them, or those in this rank's own files.
PENSTOCK_INLINE std::vector<transfer> take_as_stored(checkpoint const& weights, plan& p, used_inputs& used) {
  std::vector<transfer> all;
  for (auto const& t : weights.tensors) {
    if (auto const rank = weights.shards[index_of(t.shard)].rank; rank && *rank != p.rank) continue;
    parameter q;
    q.name = t.name, q.type = t.type, q.shape = t.shape, q.size = t.where.size, q.layer = layer_id{p.layers},
    q.id = param_id{static_cast<u32>(p.parameters.size())};
    u64 rows = 1;
    for (unsigned d = 0; d + 1 < t.shape.rank(); ++d) rows *= t.shape[d];
    q.row = rows && q.size.count % rows == 0 ? bytes{q.size.count / rows} : q.size;
    if (q.size.count) {
      if (auto taken = used.tensors[static_cast<std::size_t>(&t - weights.tensors.data())]; !taken)
        ++p.tensors, taken = true;
      all.push_back({t.shard, q.id, t.where.first.count, q.size.count, 0, q.size.count, q.size.count, 1, q.row.count});
    }
    p.parameters.push_back(std::move(q));
  }
  ++p.layers;
  return all;
}

/// Are the models' parameters called differently, and is each table of experts for some layer?
PENSTOCK_INLINE result<void> check_models(plan const& p, topology const& at, used_inputs const& used) {
  std::unordered_set<std::string_view> names;
  for (auto const& q : p.parameters)
    if (p.models.size() > 1 && !names.insert(q.name).second)
      return error{error_kind::plan, "expected parameters of different names in the models of one plan, found \"" +
                                         q.name + "\" in two; give one another name in its map, with as()"};
  for (std::size_t i = 0; i < at.experts.size(); ++i)
    if (auto const& layer = at.experts[i].layer; !used.tables[i])
      return error{error_kind::plan, "expected at most one table of experts for a layer that has experts, found " +
                                         (layer ? "another for layer " + std::to_string(*layer)
                                                : std::string{"one more for all layers"})};
  return {};
}

/// Rank r of n begins with the object that is r / n of the way, so that not all ask for the same one at once.
PENSTOCK_INLINE void rotate(plan& p) {
  auto const of_files = std::find_if(p.reads.begin(), p.reads.end(), [](auto& r) { return r.object == no_object; });
  auto const begin = object_id{static_cast<u32>(u64{p.objects.size()} * p.rank / p.ranks)};
  auto const mine = std::find_if(p.reads.begin(), of_files, [&](auto& r) { return r.object >= begin; });
  std::rotate(p.reads.begin(), mine, of_files);
}

PENSTOCK_INLINE plan_price price_of(plan const& p, storage_traits const& storage) {
  auto const seconds = [](double count, bytes a_second) { return count / static_cast<double>(a_second.count); };
  auto const passing = static_cast<double>((p.read + p.requests * storage.gap).count);  // a request is as dear as a gap
  return {seconds(passing, storage.bandwidth) / (p.memory.lanes * p.memory.depth),
          (seconds(static_cast<double>(p.needed.count), plan_price::copy_bandwidth) +
           static_cast<double>(p.copies.size()) * plan_price::copy_seconds) /
              p.memory.lanes};
}

/// The proof that is made for every plan: each byte of each parameter has one copy. Boxes of one parameter do not overlap
/// (pieces stack by sums of extents, and each tensor was seen once), so their sizes must add up to the parameter's.
PENSTOCK_INLINE result<void> every_byte_once(plan const& p) {
  std::vector<u64> written(p.parameters.size());
  for (auto const& c : p.copies) written[c.to] += u64{c.rows} * c.width;
  for (auto const& q : p.parameters)
    if (!q.derived && written[index_of(q.id)] != q.size.count)
      return error{error_kind::plan, "parameter \"" + q.name + "\": expected " + std::to_string(q.size.count) +
                                         " bytes, found tensors for " + std::to_string(written[index_of(q.id)]) +
                                         "; this weight map does not describe the parameter completely"};
  return {};
}
}  // namespace detail

PENSTOCK_INLINE result<plan> make_plan(checkpoint const& weights, model_config const& config, map_view const& map,
                                       topology const& at, plan_options const& o) {
  return make_plan(weights, config, std::span{&map, 1}, at, o);
}

PENSTOCK_INLINE result<plan> make_plan(checkpoint const& weights, model_config const& config,
                                       std::span<map_view const> maps, topology const& at, plan_options const& o) {
  auto const begin = std::chrono::steady_clock::now();
  if (auto r = detail::check_topology(at); !r) return std::move(r).error();
  if (auto r = detail::check_ranks(weights, maps, at); !r) return std::move(r).error();
  if (weights.tensors.size() > ~u32{} / 4)
    return error{error_kind::plan,
                 "expected at most a billion tensors, found " + std::to_string(weights.tensors.size())};
  plan p;
  p.uri = weights.uri, p.rank = at.rank, p.ranks = at.ranks();
  for (auto const& s : weights.shards) p.objects.push_back(s.name);

  std::vector<detail::transfer> transfers;
  detail::used_inputs used{std::vector<bool>(weights.tensors.size()), std::vector<bool>(at.experts.size())};
  for (auto const& map : maps) {
    p.models.push_back({std::string{map.arch_name()}, static_cast<u32>(p.parameters.size()), 0, layer_id{p.layers}});
    std::vector<detail::transfer> more;
    if (map.identity()) {
      more = detail::take_as_stored(weights, p, used);
    } else {
      auto bound = detail::bound_map::bind(map, config, weights.tensors);
      if (!bound) return std::move(bound).error();
      auto const schemes = detail::scheme_choice::make(*bound, config, o.quant);
      if (!schemes) return schemes.error();
      auto t = detail::planner{weights, config, *bound, *schemes, at, p, used}.run();
      if (!t) return std::move(t).error();
      more = *std::move(t);
      if (p.parameters.size() == p.models.back().first && (p.models.size() == 1 || at.last_stage()))
        return error{error_kind::plan, "expected tensors for architecture " + std::string{map.arch_name()} +
                                           ", found that by config.json this checkpoint has none"};
    }
    p.models.back().end = static_cast<u32>(p.parameters.size());
    if (transfers.empty()) transfers = std::move(more);
    else transfers.insert(transfers.end(), more.begin(), more.end());
  }
  if (auto r = detail::check_models(p, at, used); !r) return std::move(r).error();
  // By object and offset; zeros, which have no object, come last.
  std::stable_sort(transfers.begin(), transfers.end(), [](auto const& a, auto const& b) {
    return std::tie(a.object, a.from, a.width, a.rows) < std::tie(b.object, b.from, b.width, b.rows);
  });
  auto memory = detail::divide_memory(o, bytes{0});
  if (!memory) return std::move(memory).error();
  p.memory = *memory;
  detail::read_packer pack{p, p.memory.slot, o.storage.gap};
  pack.reserve(transfers);
  for (std::size_t i = 0, end = 0; i < transfers.size(); i = end) {
    for (end = i + 1; end < transfers.size() && transfers[i].same_bytes(transfers[end]);) ++end;
    pack.add(transfers[i], std::span{transfers}.subspan(i + 1, end - i - 1));
  }
  pack.finish();
  p.discarded = p.read - p.needed;
  if (auto r = detail::every_byte_once(p); !r) return std::move(r).error();
  if (o.rotate) detail::rotate(p);
  p.price = detail::price_of(p, o.storage);
  p.input_hash = detail::hash_of_inputs(weights, config, maps, at, o);
  p.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return p;
}
PENSTOCK_END
