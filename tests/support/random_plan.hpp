#pragma once
#include <algorithm>
#include <random>

#include <penstock/pipeline/detail/prepare.hpp>

#include "plan_builder.hpp"

namespace support {
using rng = std::mt19937;
inline u32 draw(rng& r) { return static_cast<u32>(r()); }
inline u32 pick(rng& r, u32 least, u32 most) { return least + draw(r) % (most - least + 1); }

/// Objects and a plan over them with boxes, gaps, zeros, groups and parameters of no bytes, and what must come out.
struct random_world {
  std::vector<blob> objects;
  plan p;
  std::vector<blob> want;
  u32 slot = 0;
};

namespace detail {
class world_maker {
 public:
  explicit world_maker(rng& r) : r_(r) {}

  random_world make() {
    w_.slot = pick(r_, 64, 4096);
    for (u32 n = pick(r_, 1, 3); n; --n) {
      blob b(pick(r_, 0, 12000));
      for (auto& x : b) x = static_cast<std::byte>(r_());
      w_.objects.push_back(std::move(b));
    }
    plan_builder b(w_.objects, pick(r_, 1, 3));
    b_ = &b;
    for (u32 o = 0; o < w_.objects.size(); ++o)
      for (u64 at = 0; at < w_.objects[o].size(); at = read(o, at))
        if (pick(r_, 0, 5) == 0) zeros();
    close_groups();
    shape_parameters();
    if (pick(r_, 0, 1)) b.parameter(pick(r_, 0, 1), 0, pick(r_, 0, b.get().layers - 1));
    w_.p = b.finish();
    w_.want = expected(w_.p, w_.objects);
    return std::move(w_);
  }

 private:
  u64 read(u32 object, u64 at) {
    u32 const size = static_cast<u32>(std::min<u64>(w_.objects[object].size() - at, pick(r_, 1, w_.slot)));
    b_->read(object, at, size);
    fill(size);
    return at + size;
  }
  void zeros() {
    u32 const size = pick(r_, 1, w_.slot);
    b_->zeros(size);
    fill(size);
  }
  /// Copies that use the bytes of the read, in order.
  void fill(u32 size) {
    for (u32 at = 0; at < size;) {
      u32 const left = size - at, what = pick(r_, 0, 9);
      if (what == 0) {
        at += pick(r_, 1, left);  // a gap
      } else if (what == 1 && left >= 8) {
        u32 const g = b_->group(8, 2, 0, mix);
        b_->keep(g, at, 4, 0).keep(g, at + 4, 4, 4);
        open_.push_back(g);
        at += 8;
      } else {
        at += box(at, left, what);
      }
    }
    if (pick(r_, 0, 5) == 0 && !open_.empty()) open_.erase(open_.begin());
  }
  /// One box into one of the last parameters, behind what it has. @returns the bytes of the read that it spans
  u32 box(u32 at, u32 left, u32 what) {
    auto& q = b_->get().parameters;
    if (q.empty() || pick(r_, 0, 2) == 0) b_->parameter(1, 0, pick(r_, 0, b_->get().layers - 1));
    u32 const last = static_cast<u32>(q.size()) - 1;
    plan_copy c;
    c.to = pick(r_, last > 2 ? last - 2 : 0, last);
    c.from = at;
    c.width = pick(r_, 1, what == 3 ? std::min(left, 16u) : left);
    if (what == 2 && left >= 8) {
      c.width = pick(r_, 1, left / 4);
      c.from_pitch = c.width + pick(r_, 0, 3);
      c.rows = 1 + (left - c.width) / c.from_pitch;
    }
    if (what >= 7 && !open_.empty()) {
      c.kind = plan_copy::what::step;
      c.group = group_id{open_[pick(r_, 0, static_cast<u32>(open_.size()) - 1)]};
      ++b_->get().groups[index_of(c.group)].steps;
    }
    c.at = q[c.to].size.count + pick(r_, 0, 3);
    c.at_pitch = c.rows > 1 ? c.width + pick(r_, 0, 2) : 0;
    q[c.to].size = bytes{c.at} + c.where().extent();
    b_->copy(c);
    return (c.rows - 1) * c.from_pitch + c.width;
  }
  /// A group without a step gets one, on a read of zeros.
  void close_groups() {
    for (u32 g = 0; g < b_->get().groups.size(); ++g) {
      if (b_->get().groups[g].steps) continue;
      b_->get().groups[g].steps = 1;
      u32 const to = b_->parameter(1, 1);
      b_->zeros(1).step(to, g, 0, 1, 0);
    }
  }
  /// Gives parameters rows, and some matrices, by making them longer.
  void shape_parameters() {
    for (auto& q : b_->get().parameters) {
      if (!q.size.count) continue;
      u64 const row = pick(r_, 1, 96), rows = (q.size.count + row - 1) / row, experts = pick(r_, 1, 3);
      if (pick(r_, 0, 1)) q.shape = {rows, row}, q.size = bytes{rows * row};
      else
        q.shape = {experts, (rows + experts - 1) / experts, row},
        q.size = bytes{(rows + experts - 1) / experts * experts * row};
      q.row = bytes{row};
    }
  }

  rng& r_;
  random_world w_;
  plan_builder* b_ = nullptr;
  std::vector<u32> open_;
};
}  // namespace detail

inline random_world make_random_world(rng& r) { return detail::world_maker(r).make(); }

/// The smallest limit under which the plan may run with these lanes and slots, and up to `more` bytes more.
inline void give_memory(random_world& w, u32 lanes, u32 slots, u32 depth, u64 more) {
  auto const pre = penstock::detail::prepare(w.p);
  u64 const kept = pre ? pre->kept_peak.count : 0;
  u64 const used = std::min<u64>(lanes, std::max<std::size_t>(1, w.p.reads.size()));
  w.p.memory = {lanes,
                slots,
                depth,
                bytes{w.slot},
                {},
                bytes{kept},
                bytes{used * slots * ((w.slot + 4095) / 4096 * 4096) + kept + more}};
}
}  // namespace support
