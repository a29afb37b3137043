#pragma once
#include <penstock/core/separate.hpp>
#include <penstock/plan/nearest.hpp>
#include <penstock/plan/planner.hpp>

PENSTOCK_BEGIN
namespace detail {
inline constexpr u32 no_tensor = ~u32{};

/// Finds the slots of the experts of each layer of a line. @errors plan
PENSTOCK_INLINE result<void> planner::place_experts(std::size_t line) {
  auto& l = lines_[line];
  u64 const count = experts_of(line), layers = at_.experts.empty() ? 1 : l.layers;
  for (u64 layer = 0; layer < layers; ++layer) {
    if (layers > 1 && !map_.in_layer(line, l.first_layer + layer)) {
      l.placed.push_back(nullptr);  // it has none
      continue;
    }
    std::pair const key{table_for(at_, l.first_layer + layer), count};
    auto found = experts_.find(key);
    if (found == experts_.end()) {
      auto made = experts_of_rank(at_, key.first, count);
      if (!made) return std::move(made).error();
      found = experts_.emplace(key, *std::move(made)).first;
    }
    l.placed.push_back(&found->second);
    if (key.first) used_.tables[static_cast<std::size_t>(key.first - at_.experts.data())] = true;
  }
  return {};
}

PENSTOCK_INLINE error planner::unknown(checkpoint_tensor const& t) const {
  for (std::size_t i = 0; i < map_.map().lines().size(); ++i) {  // known, but not with these numbers
    auto const& r = map_.rule_of(i);
    if (!spells(r, map_.suffix_of(i), t.name)) continue;
    if (map_.bound_of(i).other_way)
      return contradiction(t, "no such tensor where others are stored in another way that this architecture knows",
                           "it");
    if (auto const quantised = dim{"is_quantised"}; r.only_if == quantised || r.not_if == quantised)
      return contradiction(t, "no such tensor by what is declared", "it");
    std::string keys;
    for (auto const& d : {r.each[0].lo, r.each[0].hi, r.each[1].hi, r.only_if, r.not_if})
      for (auto const& term : d.terms)
        for (auto const* key : term.keys)
          if (key && keys.find(key) == keys.npos) keys += (keys.empty() ? "" : ", ") + std::string{key};
    return error{error_kind::plan,
                 "found tensor \"" + t.name + "\" in " + weights_.shards[index_of(t.shard)].name +
                     "; expected none of this name by the numbers of config.json (" + keys +
                     "); config.json and the weights must belong to one model",
                 context_of(t)};
  }
  for (auto const& linear : map_.map().rules()) {  // a scale, or another tensor beside the weight of a linear
    auto const module = std::string_view{t.name}.substr(0, t.name.rfind('.'));
    if (linear.what == arch::rule::linear && spells(linear, "", module))
      return contradiction(
          t, "no tensor of this name beside the weight under the schemes of this pipeline, " + schemes_of(map_.map()),
          "it");
  }
  auto const nearest = nearest_name(map_.map(), t.name);
  return error{error_kind::plan,
               "expected the tensors of architecture " + std::string{map_.map().arch_name()} +
                   ", found unknown tensor \"" + t.name + "\" in " + weights_.shards[index_of(t.shard)].name +
                   (nearest.empty() ? "" : "; the nearest known name is \"" + nearest + "\"") +
                   "; choose another --arch, or derive a map that takes or skips it",
               context_of(t)};
}

PENSTOCK_INLINE error planner::contradiction(checkpoint_tensor const& t, std::string const& expected,
                                             std::string const& found) const {
  auto const* d = config_.quantization();
  return error{error_kind::config,
               "tensor \"" + t.name + "\" in " + weights_.shards[index_of(t.shard)].name + ": expected " + expected +
                   ", found " + found + "; config.json (" + (d ? d->where : "no quantization_config") +
                   ") and the weights must belong to one model",
               context_of(t)};
}

PENSTOCK_INLINE std::string planner::scheme_of(std::size_t line, u64 layer) const {
  return std::string{map_.map().schemes()[schemes_.of(map_.map().lines()[line].rule, layer)].name};
}

PENSTOCK_INLINE bool planner::lands(topology const& at) const {
  for (std::size_t i = 0; i < lines_.size(); ++i)
    for (u8 scheme = 0; scheme < lines_[i].by_scheme.size(); ++scheme)
      if (lines_[i].by_scheme[scheme] && !land(map_, i, *part_of(map_, i, scheme), config_, at)) return false;
  return true;
}

PENSTOCK_INLINE result<void> planner::land_lines() {
  auto const& map = map_.map();
  lines_.resize(map.lines().size());
  order_ = map_.lines_in_order();
  std::map<std::pair<std::string, u64>, u32> by_target;
  for (auto const i : order_) {
    if (!map_.possible(i)) continue;
    auto const& r = map_.rule_of(i);
    auto const& b = map_.bound_of(i);
    auto& l = lines_[i];
    l.first_layer = b.lo[0], l.layers = b.count(0), l.experts = b.count(1);
    if (!r.live() || !l.layers || !l.experts) continue;
    if (r.stacked)
      if (auto placed = place_experts(i); !placed) return placed;
    bool any = false;
    for (u8 const scheme : schemes_.used_by(map.lines()[i].rule)) {
      l.by_scheme.resize(map.schemes().size());
      if (r.as_numbers && scheme)
        return error{error_kind::plan,
                     "expected \"" + map_.name(i, {b.lo[0], b.lo[1]}) +
                         "\" in plain numbers, which its rule asks for by in_model_dtype(), found scheme " +
                         std::string{map.schemes()[scheme].name} +
                         "; take it as it is stored, and let a derived() rule make the numbers"};
      auto const p = part_of(map_, i, scheme);
      if (l.by_scheme[scheme] || !p) continue;
      bool const note = p->what == quant::part::note;
      auto where = land(map_, i, *p, config_, at_);
      if (!where && where.error().kind() != error_kind::plan) return std::move(where).error();
      // What does not divide is told after what the tensors contradict: they may belong to another config.
      if (!where && !cannot_land_) cannot_land_ = where.error();
      l.by_scheme[scheme] = line_part{where ? *where : landing{}, p->type, !note && !p->optional && !r.may_be_absent,
                                      where.has_value(), note};
      any |= !note;
    }
    if (!any) continue;
    auto const target = map_.target(i);
    auto const [found, fresh] =
        by_target.try_emplace({std::string{target.view()}, b.lo[0]}, static_cast<u32>(families_.size()));
    if (fresh) families_.push_back({i, {}, {}});
    l.family = found->second;
  }
  return {};
}

/// Which layers this rank's stage has. @errors plan: a stage would have none, or others than the model's
PENSTOCK_INLINE result<void> planner::find_layers() {
  layer_range all{~u32{}, 0};
  for (auto const& f : families_)
    if (auto const& r = map_.rule_of(f.line); !r.path[1].empty() && r.at == arch::stage::of_layer) {
      auto const& l = lines_[f.line];
      all.first = std::min(all.first, static_cast<u32>(l.first_layer));
      all.end = std::max(all.end, static_cast<u32>(l.first_layer + l.layers));
    }
  all.first = std::min(all.first, all.end);
  u32 const count = all.end - all.first;
  if (first_layer_) {  // a draft model: whole on the last stage
    stage_layers_ = at_.last_stage() ? all : layer_range{};
    return {};
  }
  if (at_.pp > 1 && at_.pp > count)
    return error{error_kind::plan, "expected a pp of at most " + std::to_string(count) +
                                       ", the number of layers, found pp " + std::to_string(at_.pp)};
  u64 divided = 0;
  for (u32 const n : at_.stage_layers) divided += n;
  if (!at_.stage_layers.empty() && divided != count)
    return error{error_kind::plan, "expected pipeline stages of " + std::to_string(count) +
                                       " layers together, which the model has, found " + std::to_string(divided)};
  stage_layers_ = at_.layers_here(all);
  return {};
}

/// The full name of what a head is tied to.
inline std::string tied_name(arch::rule const& r) {
  return r.to[0].empty() ? std::string{r.tied_to} : std::string{r.to[0]} + "." + std::string{r.tied_to};
}

/// The name of the head that is tied to a parameter under this config; empty where there is none.
PENSTOCK_INLINE std::string planner::tied_to(std::string_view name) const {
  for (std::size_t i = 0; i < map_.bound().size(); ++i)
    if (auto const& r = map_.map().rules()[i]; map_.bound()[i].active && !r.tied_to.empty() && tied_name(r) == name) {
      auto const head = arch::name_of(r);
      return std::string{head.view()};
    }
  return {};
}

/// First the parameters of no layer of the model, then layer by layer, in the order of the map.
PENSTOCK_INLINE result<void> planner::number_parameters() {
  u64 layers = 0;
  auto const layered = [](arch::rule const& r) { return !r.path[1].empty() && r.at == arch::stage::of_layer; };
  for (auto const& f : families_)
    if (layered(map_.rule_of(f.line))) layers = std::max(layers, lines_[f.line].first_layer + lines_[f.line].layers);
  auto add = [&](family& f, u64 layer, u64 in) {
    auto const& r = map_.rule_of(f.line);
    auto const& l = lines_[f.line];
    auto const* part = part_at(f.line, layer);
    auto const pattern = map_.target(f.line);
    bool here = on_this_stage(r, l.first_layer + layer);
    if (!here && at_.pp > 1 && at_.last_stage()) f.tied_name = tied_to(pattern.view()), here = !f.tied_name.empty();
    bool const there = here && part && (part->required || any_seen(l, layer));
    f.parameters.push_back(there ? static_cast<u32>(plan_.parameters.size()) : no_parameter);
    if (!there) return;
    auto const& w = part->where;
    parameter p;
    p.name = f.tied_name.empty() ? filled_in(pattern.view(), l.first_layer + layer, 0) : f.tied_name;
    if (r.stacked) p.shape.push_back(experts_at(f.line, layer).count());
    w.add_to(p.shape);
    p.layer = layer_id{first_layer_ + static_cast<u32>(in)};
    p.id = param_id{static_cast<u32>(plan_.parameters.size())};
    plan_.parameters.push_back(std::move(p));
  };
  for (auto& f : families_)  // those of a vision tower's layers, too
    for (u64 layer = 0; !layered(map_.rule_of(f.line)) && layer < lines_[f.line].layers; ++layer) add(f, layer, layers);
  for (u64 layer = 0; layer < layers; ++layer)
    for (auto& f : families_) {
      auto const& l = lines_[f.line];
      auto const& r = map_.rule_of(f.line);
      if (!layered(r) || layer < l.first_layer || layer >= l.first_layer + l.layers) continue;
      if (l.layers > 1 && r.to[1].empty()) {
        auto const name = map_.target(f.line);
        return error{error_kind::plan, "expected one layer for parameter \"" + std::string{name.view()} +
                                           "\", which has no layer number in architecture " +
                                           std::string{map_.map().arch_name()} + ", found " + std::to_string(l.layers)};
      }
      add(f, layer - l.first_layer, layer);
    }
  plan_.layers += static_cast<u32>(layers) + 1;
  giver_.assign(plan_.parameters.size(), no_tensor);
  return {};
}

/// Are a tensor's dtype and shape what the table says?
PENSTOCK_INLINE result<void> planner::check(checkpoint_tensor const& t, line_part const& part, std::size_t line,
                                            u64 layer) const {
  if (!fits(part.type, t.type) && !(part.note && part.type == dtype::int32 && t.type == dtype::int64))
    return contradiction(t,
                         (part.type == dtype::any_float ? "BF16, F16 or F32" : std::string{name_of(part.type)}) +
                             (map_.rule_of(line).what == arch::rule::linear
                                  ? " (quantisation of this module: " + scheme_of(line, layer) + ")"
                                  : ""),
                         std::string{name_of(t.type)});
  auto const expected = part.where.stored_shape();
  if (part.landed && !(t.shape == expected))
    return contradiction(t, "shape " + to_string(expected) + " by config.json", to_string(t.shape));
  return {};
}

/// One tensor that a wanted line claims: its box goes to its parameter.
PENSTOCK_INLINE result<void> planner::take(checkpoint_tensor const& t, landing const& w, hit const& h) {
  auto const& l = lines_[h.line];
  auto const& r = map_.rule_of(h.line);
  auto const* experts = r.stacked ? &experts_at(h.line, layer_of(h)) : nullptr;
  if (experts && !w.slices && experts->of(h.index[1]).empty()) return {};  // of other ranks
  u32 const number = families_[l.family].parameters[layer_of(h)];
  if (number == no_parameter) return {};  // of another stage
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
                 context_of(t)};
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
  if (!flat) {
    x.rows = w.source[0].count;
    x.from_pitch = row_bits / 8, x.at_pitch = parameter_row;
    x.from += w.source[0].first * x.from_pitch;
    x.at += w.first[0] * parameter_row;
  }
  if (!x.width || !x.rows) return {};
  if (!used_.tensors[self]) ++plan_.tensors, used_.tensors[self] = true;
  u64 const from_bits = flat ? bits : row_bits, at_bits = flat ? bits : parameter_row * 8;  // of a row
  auto const put = [&](u64 slice, u64 slot) {
    for (u64 block = 0; block < w.blocks; ++block) {
      auto y = x;
      u64 const step = w.stored_extents[w.block_axis] / w.blocks * block, local = w.local[w.block_axis] * block;
      y.from += (slice * w.stored_extents[0] + (w.block_axis ? 0 : step)) * from_bits / 8;
      y.at += (slot * w.parameter_extents[0] + (w.block_axis ? 0 : local)) * at_bits / 8;
      if (w.block_axis) y.from += step * bits / 8, y.at += local * bits / 8;
      transfers_.push_back(y);
    }
  };
  if (!experts) return put(0, 0), result<void>{};
  for (u64 slice = 0; slice < std::max<u64>(1, w.slices); ++slice)
    for (u32 const slot : experts->of(w.slices ? slice : h.index[1])) put(slice, slot);
  return {};
}

PENSTOCK_INLINE result<void> planner::match_tensors() {
  u64 expected = 0;
  for (auto const& l : lines_)
    if (!l.by_scheme.empty()) expected += l.layers * l.experts;
  // Every expected tensor has a bit, unless config.json speaks of a model that is out of all proportion to the tensors.
  bool const countable = expected <= 16 * weights_.tensors.size() + 65536;
  for (auto& l : lines_)
    if (!l.by_scheme.empty() && countable) l.seen.assign(l.layers * l.experts, false);
  for (std::size_t i = 0; i < weights_.tensors.size(); ++i) {
    auto const& t = weights_.tensors[i];
    auto const& h = map_.hits()[i];
    if (!h) return unknown(t);
    auto& l = lines_[h->line];
    u64 const layer = layer_of(*h);
    auto const* part = part_at(h->line, layer);
    if (!part) {
      if (map_.rule_of(h->line).live())
        return contradiction(t, "no such tensor (quantisation of this module: " + scheme_of(h->line, layer) + ")",
                             "it");
      continue;
    }
    if (auto r = check(t, *part, h->line, layer); !r) return r;
    if (!countable) continue;
    auto bit = l.seen[layer * l.experts + h->index[1]];
    if (bit)
      return error{error_kind::plan, "found tensor \"" + t.name + "\" twice; expected each tensor once", context_of(t)};
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
    if (l.by_scheme.empty()) continue;
    u64 const lo = l.first_layer;
    auto const required = [&](u64 layer) {
      auto const* part = part_at(i, layer);
      return part && part->required;
    };
    if (l.seen.empty()) {
      if (!required(l.layers - 1)) continue;
      missing += l.layers * l.experts;
      if (names.empty()) names = "\"" + map_.name(i, {lo + l.layers - 1, l.experts - 1}) + "\"";
      continue;
    }
    for (u64 at = 0; at < l.seen.size(); ++at)
      if (!l.seen[at] && required(at / l.experts) && ++missing <= most)
        names += (names.empty() ? "\"" : ", \"") + map_.name(i, {lo + at / l.experts, at % l.experts}) + "\"";
  }
  if (!missing) return {};
  return error{error_kind::plan,
               "expected " + std::to_string(missing) + " more tensor(s) by config.json and architecture " +
                   std::string{map_.map().arch_name()} + ", found none of that name: " + names +
                   (missing > most ? ", ..." : "") + "; the checkpoint is incomplete, or not of this architecture",
               {weights_.uri, {}, {}, 0, 0, {}, {}, -1}};
}

PENSTOCK_INLINE void planner::add_aliases() {
  if (at_.pp > 1) return;
  for (std::size_t i = 0; i < map_.bound().size(); ++i) {
    auto const& r = map_.map().rules()[i];
    if (!map_.bound()[i].active || r.tied_to.empty()) continue;
    auto const name = arch::name_of(r);
    for (u32 k = first_parameter_; k < plan_.parameters.size(); ++k)
      if (plan_.parameters[k].name == tied_name(r)) plan_.aliases.emplace_back(std::string{name.view()}, param_id{k});
  }
}

PENSTOCK_INLINE result<std::vector<transfer>> planner::run() {
  if (auto r = land_lines(); !r) return std::move(r).error();
  if (auto r = match_tensors(); !r) return std::move(r).error();
  if (auto r = nothing_is_missing(); !r) return std::move(r).error();
  if (cannot_land_) return with_sizes(*std::move(cannot_land_), at_, [&](auto const& at) { return lands(at); });
  if (auto r = find_layers(); !r) return std::move(r).error();
  if (auto r = number_parameters(); !r) return std::move(r).error();
  for (std::size_t i = 0; i < weights_.tensors.size(); ++i) {
    auto const& h = *map_.hits()[i];
    if (auto const* part = part_at(h.line, layer_of(h)); part && !part->note)
      if (auto r = take(weights_.tensors[i], part->where, h); !r) return std::move(r).error();
  }
  if (auto r = add_derived(); !r) return std::move(r).error();
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
