#pragma once
#include <algorithm>
#include <memory>
#include <vector>

#include <penstock/core/read.hpp>
#include <penstock/pipeline/detail/destinations.hpp>
#include <penstock/pipeline/load_options.hpp>

PENSTOCK_BEGIN
namespace detail {
/// Lays out reads that need no slot: all their pieces are placed, in order, long enough, and where the host reaches.
///
/// Bytes that no piece wants go to a small scratch, over each other. @threads one
class direct_layout {
 public:
  static constexpr u64 scratch_size = 16 * 1024;

  /// @param mean  least mean length of the entries; a layout of shorter ones is refused
  /// @returns whether `to` is now the list for the read; otherwise it is empty
  bool lay_out(plan const& p, plan_read const& r, destinations const& places, bytes mean, std::vector<scatter>& to) {
    bool const zeros = r.object == no_object;
    u64 const most = zeros || !mean.count ? ~u64{0} : r.size / mean.count;
    to.clear();
    if (mean == never_direct || (most < r.copies_end - r.copies && !zeros)) return false;
    u64 at = 0;  // bytes of the read that have a place
    for (u32 c = r.copies; c < r.copies_end; ++c) {
      auto const& copy = p.copies[c];
      if (copy.kind != plan_copy::what::place || !places.bound(copy.to) || !places.reached(copy.to)) return refuse(to);
      for (u32 row = 0; row < copy.rows; ++row) {
        u64 const from = copy.from_row(row);
        if (from < at) return refuse(to);
        if (!zeros) skip(from - at, to);
        places.runs(copy.to, copy.at_row(row), copy.width, [&](std::byte* piece, u64 n) { push(piece, n, to); });
        at = from + copy.width;
        if (to.size() > most) return refuse(to);
      }
    }
    if (!zeros) skip(r.size - at, to);
    return to.size() <= most || refuse(to);
  }

 private:
  static bool refuse(std::vector<scatter>& to) {
    to.clear();
    return false;
  }
  static void push(std::byte* piece, u64 n, std::vector<scatter>& to) {
    if (!to.empty() && to.back().to + to.back().bytes == piece) to.back().bytes += n;
    else to.push_back({piece, n});
  }
  void skip(u64 n, std::vector<scatter>& to) {
    if (n && !scratch_) scratch_ = std::make_unique<std::byte[]>(scratch_size);
    for (; n; n -= std::min(n, scratch_size)) to.push_back({scratch_.get(), std::min(n, scratch_size)});
  }

  std::unique_ptr<std::byte[]> scratch_;
};
}  // namespace detail
PENSTOCK_END
