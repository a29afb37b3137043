#pragma once
#include <penstock/core/separate.hpp>
#include <penstock/plan/nearest.hpp>
#include <penstock/plan/planner.hpp>

PENSTOCK_BEGIN
namespace detail {
inline constexpr u32 no_tensor = ~u32{};

PENSTOCK_INLINE extent planner::experts_here(u64 count) const noexcept {
  auto const block = at_.expert_block();
  u64 const each = count / block.size, more = count % block.size;
  return {block.rank * each + std::min<u64>(block.rank, more),
          each + (block.rank < more)};  // the first blocks own one more
}

PENSTOCK_INLINE error planner::unknown(checkpoint_tensor const& t) const {
  auto const nearest = nearest_name(map_.map(), t.name);
  return error{error_kind::plan,
               "expected the tensors of architecture " + std::string{map_.map().arch_name()} +
                   ", found unknown tensor \"" + t.name + "\" in " + weights_.shards[index_of(t.shard)].name +
                   (nearest.empty() ? "" : "; the nearest known name is \"" + nearest + "\"") +
                   "; choose another --arch, or derive a map that takes or skips it",
               {weights_.uri, t.name, t.where, 0, 0, {}, {}, -1}};
}

PENSTOCK_INLINE error planner::contradiction(checkpoint_tensor const& t, std::string const& expected,
                                             std::string const& found) const {
  return error{error_kind::config,
               "tensor \"" + t.name + "\" in " + weights_.shards[index_of(t.shard)].name + ": expected " + expected +
                   ", found " + found + "; config.json and the weights must belong to one model",
               {weights_.uri, t.name, t.where, 0, 0, {}, {}, -1}};
}

PENSTOCK_INLINE result<void> planner::land_lines() {
  auto const& map = map_.map();
  lines_.resize(map.lines().size());
  order_.resize(lines_.size());
  for (std::size_t i = 0; i < order_.size(); ++i) order_[i] = i;
  std::sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) {
    auto const &x = map.lines()[a], &y = map.lines()[b];
    return x.rule != y.rule ? x.rule < y.rule : x.suffix < y.suffix;
  });
  std::map<std::pair<std::string, u64>, u32> by_target;
  for (auto const i : order_) {
    if (!map_.possible(i)) continue;
    auto const& r = map_.rule_of(i);
    auto const& b = map_.bound_of(i);
    auto& l = lines_[i];
    l.layers = r.path[1].empty() ? 1 : b.hi[0] - std::min(b.lo[0], b.hi[0]);
    l.experts = r.path[2].empty() ? 1 : b.hi[1] - std::min(b.lo[1], b.hi[1]);
    auto const p = part_of(map_, i, 0);
    if (!r.live() || !l.layers || !l.experts || !p || p->what == quant::part::note) continue;
    auto where = land(map_, i, *p, config_, at_);
    if (!where) return std::move(where).error();
    l.where = *where, l.type = p->type, l.wanted = true, l.required = !p->optional && !r.may_be_absent;
    auto const target = arch::target_of(r, map_.suffix_of(i));
    auto const [found, fresh] =
        by_target.try_emplace({std::string{target.view()}, b.lo[0]}, static_cast<u32>(families_.size()));
    if (fresh) families_.push_back({i, {}});
    l.family = found->second;
  }
  return {};
}

/// First the parameters of no layer, then layer by layer, in the order of the map.
PENSTOCK_INLINE void planner::number_parameters() {
  u64 layers = 0;
  for (auto const& f : families_)
    if (!map_.rule_of(f.line).path[1].empty()) layers = std::max(layers, map_.bound_of(f.line).hi[0]);
  auto add = [&](family& f, u64 layer, layer_id in) {
    auto const& r = map_.rule_of(f.line);
    auto const& l = lines_[f.line];
    auto const pattern = arch::target_of(r, map_.suffix_of(f.line));
    parameter p;
    p.name = filled_in(pattern.view(), layer, 0);
    if (r.stacked) p.shape.push_back(experts_here(l.experts).count);
    for (unsigned d = 0; d < l.where.axes; ++d) p.shape.push_back(l.where.parameter_extents[d]);
    if (r.rank == 3) p.shape.push_back(l.where.inner);
    p.layer = in;
    p.id = param_id{static_cast<u32>(plan_.parameters.size())};
    f.parameters.push_back(index_of(p.id));
    plan_.parameters.push_back(std::move(p));
  };
  for (auto& f : families_)
    if (map_.rule_of(f.line).path[1].empty()) add(f, 0, layer_id{static_cast<u32>(layers)});
  for (u64 layer = 0; layer < layers; ++layer)
    for (auto& f : families_) {
      auto const& b = map_.bound_of(f.line);
      if (!map_.rule_of(f.line).path[1].empty() && layer >= b.lo[0] && layer < b.hi[0])
        add(f, layer, layer_id{static_cast<u32>(layer)});
    }
  plan_.layers = static_cast<u32>(layers) + 1;
  giver_.assign(plan_.parameters.size(), no_tensor);
}

/// One tensor that a wanted line claims: its dtype and shape are what the table says, and its box goes to its parameter.
PENSTOCK_INLINE result<void> planner::take(checkpoint_tensor const& t, hit const& h) {
  auto const& l = lines_[h.line];
  auto const& r = map_.rule_of(h.line);
  if (!fits(l.type, t.type))
    return contradiction(t,
                         l.type == dtype::any_float ? "BF16, F16 or F32 (scheme none)" : std::string{name_of(l.type)},
                         std::string{name_of(t.type)});
  auto const& w = l.where;
  auto const expected = w.stored_shape(r.rank);
  if (!(t.shape == expected))
    return contradiction(t, "shape " + to_string(expected) + " by config.json", to_string(t.shape));
  u64 expert = h.index[1];
  if (r.stacked) {
    auto const mine = experts_here(l.experts);
    if (expert < mine.first || expert - mine.first >= mine.count) return {};
    expert -= mine.first;
  }
  u32 const number = families_[l.family].parameters[h.index[0] - (r.path[1].empty() ? 0 : map_.bound_of(h.line).lo[0])];
  auto& p = plan_.parameters[number];
  auto const self = static_cast<u32>(&t - weights_.tensors.data());
  if (giver_[number] == no_tensor) {
    giver_[number] = self, p.type = t.type;
  } else if (p.type != t.type) {
    auto const& other = weights_.tensors[giver_[number]];
    return error{error_kind::plan,
                 "parameter \"" + p.name + "\": its pieces differ in dtype: \"" + other.name + "\" is " +
                     std::string{name_of(other.type)} + ", \"" + t.name + "\" is " + std::string{name_of(t.type)} +
                     "; all pieces of one parameter must agree",
                 {weights_.uri, t.name, t.where, 0, 0, {}, {}, -1}};
  }
  u64 const bits = bits_of(t.type) * w.inner;
  bool const flat = w.axes < 2;
  u64 const width_bits = (flat ? w.source[0].count : w.source[1].count) * bits,
            shift_bits = (flat ? w.source[0].first : w.source[1].first) * bits;
  u64 const to_bits = (flat ? w.first[0] : w.first[1]) * bits, row_bits = (flat ? 1 : w.stored_extents[1]) * bits;
  if (width_bits % 8 || shift_bits % 8 || to_bits % 8 || (!flat && row_bits % 8))
    return error{error_kind::plan, "tensor \"" + t.name + "\" (" + std::string{name_of(t.type)} +
                                       "): the share of rank " + std::to_string(at_.rank) +
                                       " is no whole number of bytes; choose another tp"};
  transfer x;
  x.object = t.shard, x.to = p.id, x.width = width_bits / 8;
  u64 const parameter_row = (flat ? w.parameter_extents[0] : w.parameter_extents[1]) * bits / 8;
  x.from = t.where.first.count + shift_bits / 8, x.at = to_bits / 8, x.row = parameter_row;
  if (flat) {
    x.at += expert * parameter_row;
  } else {
    x.rows = w.source[0].count;
    x.from_pitch = row_bits / 8, x.at_pitch = parameter_row;
    x.from += w.source[0].first * x.from_pitch;
    x.at += (w.first[0] + expert * w.parameter_extents[0]) * parameter_row;
  }
  if (!x.width || !x.rows) return {};
  ++plan_.tensors;
  transfers_.push_back(x);
  return {};
}

PENSTOCK_INLINE result<void> planner::match_tensors() {
  u64 expected = 0;
  for (auto const& l : lines_)
    if (l.wanted) expected += l.layers * l.experts;
  // Every expected tensor has a bit, unless config.json speaks of a model that is out of all proportion to the tensors.
  bool const countable = expected <= 16 * weights_.tensors.size() + 65536;
  for (auto& l : lines_)
    if (l.wanted && countable) l.seen.assign(l.layers * l.experts, false);
  hits_.reserve(weights_.tensors.size());
  for (auto const& t : weights_.tensors) {
    auto const h = map_.match(t.name);
    if (!h) return unknown(t);
    hits_.push_back(*h);
    auto& l = lines_[h->line];
    if (!l.wanted) {
      if (map_.rule_of(h->line).live()) return contradiction(t, "no such tensor under the schemes in use", "it");
      continue;
    }
    if (!countable) continue;
    u64 const layer = map_.rule_of(h->line).path[1].empty() ? 0 : h->index[0] - map_.bound_of(h->line).lo[0];
    u64 const expert = map_.rule_of(h->line).path[2].empty() ? 0 : h->index[1];
    auto bit = l.seen[layer * l.experts + expert];
    if (bit)
      return error{error_kind::plan,
                   "found tensor \"" + t.name + "\" twice; expected each tensor once",
                   {weights_.uri, t.name, t.where, 0, 0, {}, {}, -1}};
    bit = true;
  }
  return {};
}

PENSTOCK_INLINE result<void> planner::nothing_is_missing() const {
  constexpr u64 most = 5;
  u64 missing = 0;
  std::string names;
  for (auto const i : order_) {
    auto const& l = lines_[i];
    if (!l.wanted || !l.required) continue;
    bool const layered = !map_.rule_of(i).path[1].empty();
    u64 const lo = layered ? map_.bound_of(i).lo[0] : 0;
    if (l.seen.empty()) {
      missing += l.layers * l.experts;
      if (names.empty()) names = "\"" + map_.name(i, {lo + l.layers - 1, l.experts - 1}) + "\"";
      continue;
    }
    for (u64 at = 0; at < l.seen.size(); ++at)
      if (!l.seen[at] && ++missing <= most)
        names += (names.empty() ? "\"" : ", \"") + map_.name(i, {lo + at / l.experts, at % l.experts}) + "\"";
  }
  if (!missing) return {};
  return error{error_kind::plan,
               "expected " + std::to_string(missing) + " more tensor(s) by config.json and architecture " +
                   std::string{map_.map().arch_name()} + ", found none of that name: " + names +
                   (missing > most ? ", ..." : "") + "; the checkpoint is incomplete, or not of this architecture",
               {weights_.uri, {}, {}, 0, 0, {}, {}, -1}};
}

/// What a rank holds beyond the rows of the checkpoint (a padded vocabulary) is zeros.
PENSTOCK_INLINE void planner::add_padding() {
  for (auto const i : order_) {
    auto const& l = lines_[i];
    auto const& w = l.where;
    if (!l.wanted || w.local[0] == w.source[0].count) continue;
    for (auto const number : families_[l.family].parameters) {
      auto& p = plan_.parameters[number];
      transfer z;
      z.to = p.id;
      z.row = (w.axes < 2 ? w.parameter_extents[0] : w.parameter_extents[1]) * w.inner * bits_of(p.type) / 8;
      u64 const unit = w.axes < 2 ? w.inner * bits_of(p.type) / 8 : z.row;  // of one element along the padded axis
      z.width = (w.local[0] - w.source[0].count) * unit;
      z.at = (w.first[0] + w.source[0].count) * unit;
      transfers_.push_back(z);
    }
  }
}

PENSTOCK_INLINE void planner::add_aliases() {
  for (std::size_t i = 0; i < map_.bound().size(); ++i) {
    auto const& r = map_.map().rules()[i];
    if (!map_.bound()[i].active || r.tied_to.empty()) continue;
    auto const name = arch::name_of(r);
    if (auto const* p = plan_.find(r.tied_to)) plan_.aliases.emplace_back(std::string{name.view()}, p->id);
  }
}

PENSTOCK_INLINE result<std::vector<transfer>> planner::run() {
  if (auto r = land_lines(); !r) return std::move(r).error();
  if (auto r = match_tensors(); !r) return std::move(r).error();
  if (auto r = nothing_is_missing(); !r) return std::move(r).error();
  number_parameters();
  for (std::size_t i = 0; i < hits_.size(); ++i)
    if (lines_[hits_[i].line].wanted)
      if (auto r = take(weights_.tensors[i], hits_[i]); !r) return std::move(r).error();
  for (auto& p : plan_.parameters) {
    p.size = p.shape.size(p.type).value_or(bytes{0});
    u64 const last = p.shape.rank() ? p.shape[p.shape.rank() - 1] : 1;
    p.row = p.shape.rank() < 2 ? p.size : bytes{last * bits_of(p.type) / 8};
  }
  add_padding();
  add_aliases();
  return std::move(transfers_);
}
}  // namespace detail
PENSTOCK_END
