#pragma once
#include <penstock/plan/planner.hpp>

PENSTOCK_BEGIN
namespace detail {
/// What a rank holds beyond the rows or columns of the checkpoint (a padded vocabulary) is zeros.
inline void planner::add_padding() {
  for (auto const i : order_) {
    auto const& l = lines_[i];
    for (u64 layer = 0; !l.by_scheme.empty() && layer < l.layers; ++layer) {
      auto const* part = part_at(i, layer);
      if (!part || part->note) continue;
      auto const& w = part->where;
      if (w.local[0] == w.source[0].count && (w.axes < 2 || w.local[1] == w.source[1].count)) continue;
      u32 const number = families_[l.family].parameters[layer];
      if (number == no_parameter) continue;
      auto const& p = plan_.parameters[number];
      auto const& r = map_.rule_of(i);
      u64 const bits = w.inner * bits_of(p.type);
      u64 const line = w.axes < 2 ? bits : w.parameter_extents[1] * bits;  // one step along the first axis
      u64 const slices = r.stacked ? experts_here(experts_of(i)).count : 1;
      for (u64 slice = 0; slice < slices; ++slice)
        for (u64 block = 0; block < w.blocks; ++block) {
          u64 const along[] = {w.block_axis ? 0 : block * w.local[0], w.block_axis ? block * w.local[1] : 0};
          u64 const first = (slice * w.parameter_extents[0] + w.first[0] + along[0]) * line / 8;
          transfer z;
          z.to = p.id;
          z.row = w.axes < 2 ? w.parameter_extents[0] * bits / 8 : line / 8;
          z.width = (w.local[0] - w.source[0].count) * line / 8;
          z.at = first + w.source[0].count * line / 8;
          transfers_.push_back(z);
          if (w.axes < 2) continue;
          z.rows = w.source[0].count;
          z.width = (w.local[1] - w.source[1].count) * bits / 8;
          z.at = first + (w.first[1] + along[1] + w.source[1].count) * bits / 8;
          z.from_pitch = z.width, z.at_pitch = line / 8;
          transfers_.push_back(z);
        }
    }
  }
}
}  // namespace detail
PENSTOCK_END
