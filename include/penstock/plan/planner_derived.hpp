#pragma once
#include <algorithm>

#include <penstock/plan/planner.hpp>

PENSTOCK_BEGIN
namespace detail {
/// The complete linear whose parts are `lines`: the payload, then the scheme's other parts.
inline derivation planner::linear_at(std::vector<std::size_t> const& lines, scheme_view const& scheme,
                                     u64 layer) const {
  derivation d;
  d.numbers = scheme.dequantise;
  for (std::size_t part = 0; part < scheme.count; ++part) {
    auto const line = std::find_if(lines.begin(), lines.end(), [&](std::size_t i) {
      return map_.suffix_of(i) == scheme.parts[part].suffix && part_at(i, layer);
    });
    if (line == lines.end() || part_at(*line, layer)->note) continue;
    auto const& w = part_at(*line, layer)->where;
    if (d.sources.empty())
      d.n = w.parameter_extents[0], d.k = w.elements_of_k, d.packed = std::max<u64>(1, w.unit[1]) / w.inner;
    else if (d.sources.size() == 1) d.unit = {w.unit[0] ? w.unit[0] : d.n, w.unit[1] ? w.unit[1] : d.k};
    d.sources.push_back(param_id{families_[lines_[*line].family].parameters[layer]});
  }
  return d;
}

/// What rule number `rule` makes of a linear when that is complete.
inline result<void> planner::derive(std::size_t rule, derivation d, u64 layer) {
  auto const& r = map_.map().rules()[rule];
  auto const& b = map_.bound()[rule];
  auto const name = arch::target_of(r);
  parameter p;
  p.name = filled_in(name.view(), b.lo[0] + layer, 0);
  if (!b.head || d.n % b.head || b.first + b.taken > b.head || !d.numbers || d.sources.empty() ||
      d.sources.size() > 1 + stored_rows::most_sides)
    return error{error_kind::plan, "parameter \"" + p.name +
                                       "\" cannot be made: expected its source to have a multiple of " +
                                       std::to_string(b.head) + " rows on each rank, found " + std::to_string(d.n)};
  auto const& payload = plan_.parameters[index_of(d.sources[0])];
  p.type = is_plain_float(payload.type) ? payload.type : dtype::bf16;
  p.shape = r.step.by_column ? shape{d.n / b.head, d.k, b.taken} : shape{d.n / b.head, b.taken, d.k};
  p.layer = payload.layer, p.derived = true, p.id = param_id{static_cast<u32>(plan_.parameters.size())};
  derived_parameter const made{p.id, b.head, b.first, b.taken, r.step.by_column};
  plan_.parameters.push_back(std::move(p));
  auto same = std::find_if(plan_.derivations.begin(), plan_.derivations.end(),
                           [&](derivation const& o) { return o.sources == d.sources; });
  if (same == plan_.derivations.end()) same = plan_.derivations.insert(same, std::move(d));
  same->results.push_back(made);
  return {};
}

inline result<void> planner::add_derived() {
  auto const rules = map_.map().rules();
  for (std::size_t i = 0; i < rules.size(); ++i) {
    auto const& r = rules[i];
    if (r.what != arch::rule::derived || !r.live() || !map_.bound()[i].active) continue;
    std::vector<std::size_t> lines;  // of its source
    for (auto const line : order_) {
      auto const& s = map_.rule_of(line);
      if (s.what == arch::rule::linear && s.path == r.path && !lines_[line].by_scheme.empty() && !map_.is_bias(line))
        lines.push_back(line);
    }
    if (lines.empty()) continue;
    auto const source = map_.map().lines()[lines[0]].rule;
    for (u64 layer = 0; layer < lines_[lines[0]].layers; ++layer) {
      if (!on_this_stage(map_.rule_of(lines[0]), lines_[lines[0]].first_layer + layer)) continue;
      auto const& scheme = map_.map().schemes()[schemes_.of(source, layer)];
      if (auto made = derive(i, linear_at(lines, scheme, layer), layer); !made) return made;
    }
  }
  return {};
}
}  // namespace detail
PENSTOCK_END
