#pragma once
#include <algorithm>

#include <penstock/core/separate.hpp>
#include <penstock/plan/inventory.hpp>
#include <penstock/plan/landing.hpp>

PENSTOCK_BEGIN
PENSTOCK_INLINE result<std::vector<inventory_tensor>> inventory_of(map_view const& map, model_config const& config,
                                                                   std::string_view quant, dtype floats) {
  auto const bound = detail::bound_map::bind(map, config);
  if (!bound) return bound.error();
  auto const schemes = detail::scheme_choice::make(*bound, config, quant);
  if (!schemes) return schemes.error();
  auto const lines = map.lines();
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < lines.size(); ++i)
    if (bound->possible(i) && !bound->rule_of(i).may_be_absent) order.push_back(i);
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return lines[a].rule != lines[b].rule ? lines[a].rule < lines[b].rule : lines[a].suffix < lines[b].suffix;
  });
  std::vector<inventory_tensor> all;
  for (auto const i : order) {
    auto const& r = bound->rule_of(i);
    auto const& b = bound->bound_of(i);
    u64 const layers = r.path[1].empty() ? 1 : b.hi[0] - std::min(b.lo[0], b.hi[0]);
    u64 const experts = r.path[2].empty() ? 1 : b.hi[1] - std::min(b.lo[1], b.hi[1]);
    for (u64 layer = 0; layer < layers; ++layer) {
      auto const p = detail::part_of(*bound, i, schemes->of(lines[i].rule, layer));
      if (!p || p->optional) continue;
      auto const where = detail::land(*bound, i, *p, config, {});
      if (!where) return where.error();
      inventory_tensor t;
      t.type = p->type == dtype::any_float ? floats : p->type;
      t.shape = where->stored_shape(r.rank);
      auto const size = t.shape.size(t.type);
      if (!size)
        return error{error_kind::plan, "expected tensors of less than 2^64 bytes, found " +
                                           bound->name(i, {b.lo[0], 0}) + " of shape " + to_string(t.shape)};
      t.size = *size;
      for (u64 expert = 0; expert < experts; ++expert) {
        t.name = bound->name(i, {b.lo[0] + layer, expert});
        all.push_back(t);
      }
    }
  }
  return all;
}
PENSTOCK_END
