#pragma once
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
  std::vector<inventory_tensor> all;
  for (auto const i : bound->lines_in_order()) {
    auto const& r = bound->rule_of(i);
    auto const& b = bound->bound_of(i);
    if (!bound->possible(i) || r.may_be_absent) continue;
    for (u64 layer = 0; layer < b.count(0); ++layer) {
      if (!bound->in_layer(i, b.lo[0] + layer)) continue;
      auto const p = detail::part_of(*bound, i, schemes->of(map.lines()[i].rule, layer));
      if (!p || p->optional) continue;
      auto const where = detail::land(*bound, i, *p, config, {});
      if (!where) return where.error();
      inventory_tensor t;
      t.type = p->type == dtype::any_float ? floats : p->type;
      t.shape = where->stored_shape();
      if (p->what == quant::part::note) t.says = {b.n, b.k};
      auto const size = t.shape.size(t.type);
      if (!size)
        return error{error_kind::plan, "expected tensors of less than 2^64 bytes, found " +
                                           bound->name(i, {b.lo[0], 0}) + " of shape " + to_string(t.shape)};
      t.size = *size;
      for (u64 expert = 0; expert < b.count(1); ++expert) {
        t.name = bound->name(i, {b.lo[0] + layer, expert});
        all.push_back(t);
      }
    }
  }
  return all;
}
PENSTOCK_END
