#pragma once
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include <penstock/plan/plan.hpp>

namespace support {
using namespace penstock;
using blob = std::vector<std::byte>;

/// Writes small plans by hand: parameters of bytes, then reads with their copies. For tests.
class plan_builder {
 public:
  explicit plan_builder(std::vector<blob> const& objects, u32 layers = 1) {
    p_.uri = "memory://test";
    p_.layers = layers;
    for (std::size_t i = 0; i < objects.size(); ++i) p_.objects.push_back("shard " + std::to_string(i));
  }

  /// A parameter of bytes in rows. @returns its number
  u32 parameter(u64 rows, u64 row, u32 layer = 0) {
    u32 const id = static_cast<u32>(p_.parameters.size());
    p_.parameters.push_back({"p" + std::to_string(id),
                             dtype::uint8,
                             {rows, row},
                             bytes{rows * row},
                             bytes{row},
                             layer_id{layer},
                             param_id{id},
                             0});
    return id;
  }
  u32 group(u32 size, u32 keeps, u32 steps, decltype(plan_group::run) run) {
    p_.groups.push_back({size, keeps, steps, run});
    return static_cast<u32>(p_.groups.size() - 1);
  }
  /// Begins a read; what follows are its copies.
  plan_builder& read(u32 object, u64 first, u32 size) { return begin({object_id{object}, size, first, 0, 0}); }
  plan_builder& zeros(u32 size) { return begin({no_object, size, 0, 0, 0}); }

  plan_builder& place(u32 to, u32 from, u32 width, u64 at) {
    return copy({plan_copy::what::place, to, no_group, from, width, 1, 0, 0, at});
  }
  plan_builder& keep(u32 group, u32 from, u32 width, u64 at) {
    return copy({plan_copy::what::keep, group, no_group, from, width, 1, 0, 0, at});
  }
  plan_builder& step(u32 to, u32 group, u32 from, u32 width, u64 at) {
    return copy({plan_copy::what::step, to, group_id{group}, from, width, 1, 0, 0, at});
  }
  plan_builder& copy(plan_copy c) {
    if (c.kind != plan_copy::what::keep) ++p_.parameters[c.to].pieces;
    if (p_.reads.back().object != no_object) p_.needed += c.where().size();
    p_.copies.push_back(c);
    p_.reads.back().copies_end = static_cast<u32>(p_.copies.size());
    return *this;
  }

  /// The division of memory: a limit with room for all of it and `kept`.
  plan_builder& memory(u32 lanes, u32 slots, u32 depth, u64 slot, u64 kept = 0) {
    u64 const stride = (slot + 4095) / 4096 * 4096;
    p_.memory = {lanes, slots, depth, bytes{slot}, {}, bytes{kept}, bytes{lanes * slots * stride + kept}};
    return *this;
  }

  plan& get() { return p_; }
  plan finish() { return std::move(p_); }

 private:
  plan_builder& begin(plan_read r) {
    r.copies = r.copies_end = static_cast<u32>(p_.copies.size());
    p_.reads.push_back(r);
    if (r.object != no_object) p_.read += bytes{r.size}, ++p_.requests;
    return *this;
  }
  plan p_;
};

/// A step for tests: every byte is changed by one of eight kept bytes.
inline void mix(std::byte const* kept, std::byte* piece, std::size_t n, plan_copy const&) {
  for (std::size_t i = 0; i < n; ++i) piece[i] ^= kept[i % 8];
}

inline constexpr std::byte untouched{0xAA};

/// What a plan makes of its objects, computed one read after the other; bytes that no copy writes are `untouched`.
inline std::vector<blob> expected(plan const& p, std::vector<blob> const& objects) {
  std::vector<blob> out, kept;
  for (auto const& q : p.parameters) out.emplace_back(q.size.count, untouched);
  for (auto const& g : p.groups) kept.emplace_back(g.size);
  for (auto const& r : p.reads) {
    blob in(r.size);
    if (r.size && r.object != no_object) std::memcpy(in.data(), objects[index_of(r.object)].data() + r.first, r.size);
    for (bool keeps : {true, false})
      for (u32 i = r.copies; i < r.copies_end; ++i) {
        auto const& c = p.copies[i];
        if ((c.kind == plan_copy::what::keep) != keeps) continue;
        for (u32 row = 0; row < c.rows; ++row) {
          blob piece(in.data() + c.from_row(row), in.data() + c.from_row(row) + c.width);
          if (c.kind == plan_copy::what::step)
            p.groups[index_of(c.group)].run(kept[index_of(c.group)].data(), piece.data(), piece.size(), c);
          std::memcpy((keeps ? kept : out)[c.to].data() + c.at_row(row), piece.data(), piece.size());
        }
      }
  }
  return out;
}
}  // namespace support
