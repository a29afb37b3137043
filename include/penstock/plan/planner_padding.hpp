#pragma once
#include <penstock/plan/planner.hpp>

PENSTOCK_BEGIN
namespace detail {
/// What a rank holds beyond the rows and columns of the checkpoint (a padded vocabulary, an unequal share) is zeros.
inline void planner::add_padding() {
  for (auto const i : order_) {
    auto const& l = lines_[i];
    for (u64 layer = 0; !l.by_scheme.empty() && layer < l.layers; ++layer) {
      auto const* part = part_at(i, layer);
      if (!part || part->note) continue;
      auto const& w = part->where;
      u64 const rows = w.local[0] - w.source[0].count, columns = w.axes < 2 ? 0 : w.local[1] - w.source[1].count;
      u32 const number = families_[l.family].parameters[layer];
      if ((!rows && !columns) || number == no_parameter) continue;
      auto const& p = plan_.parameters[number];
      auto const size = [&](u64 n) { return n * w.inner * bits_of(p.type) / 8; };
      u64 const row = size(w.axes < 2 ? 1 : w.parameter_extents[1]);
      u64 const experts = map_.rule_of(i).stacked ? p.shape[0] : 1;
      for (u64 expert = 0; expert < experts; ++expert)
        for (u64 block = 0; block < w.blocks; ++block) {
          u64 const down = w.block_axis ? 0 : block * w.local[0], right = w.block_axis ? block * w.local[1] : 0;
          transfer z;
          z.to = p.id, z.row = w.axes < 2 ? size(w.parameter_extents[0]) : row;
          z.at = (expert * w.parameter_extents[0] + w.first[0] + down) * row;
          auto below = z;
          below.at += w.source[0].count * row + size(right), below.width = w.axes < 2 ? rows * row : size(w.local[1]);
          if (w.axes == 2) below.rows = rows, below.at_pitch = row, below.from_pitch = below.width;
          if (rows) transfers_.push_back(below);
          z.at += size(w.first[1] + right + w.source[1].count);
          z.rows = w.source[0].count, z.at_pitch = row, z.width = z.from_pitch = size(columns);
          if (columns && z.rows) transfers_.push_back(z);
        }
    }
  }
}
}  // namespace detail
PENSTOCK_END
