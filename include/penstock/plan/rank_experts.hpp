#pragma once
#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include <penstock/core/result.hpp>
#include <penstock/core/topology.hpp>

PENSTOCK_BEGIN
namespace detail {
/// The slots that one rank has for the experts of a layer, by expert.
struct rank_experts {
  std::vector<u32> first;  ///< of each expert, in `slots`; and the end
  std::vector<u32> slots;
  [[nodiscard]] u64 count() const noexcept { return slots.size(); }
  [[nodiscard]] std::span<u32 const> of(u64 expert) const noexcept {
    return {slots.data() + first[expert], slots.data() + first[expert + 1]};
  }
};

/// The table for a layer; null: it has none, and experts lie in equal blocks.
inline expert_table const* table_for(topology const& at, u64 layer) noexcept {
  expert_table const* all = nullptr;
  for (auto const& t : at.experts)
    if (!t.layer) all = &t;
    else if (*t.layer == layer) return &t;
  return all;
}

/// @param table  null: equal blocks, the first ones with one more where they do not divide
/// @errors plan: more blocks than experts, a table for another number of blocks, an empty block, an expert that is not in
///         the model or in no block
inline result<rank_experts> experts_of_rank(topology const& at, expert_table const* table, u64 experts) {
  auto const number = [](u64 n) { return std::to_string(n); };
  auto const block = at.expert_block();
  if (!table) {
    if (experts < at.ep)
      return error{error_kind::plan, "expected an ep of at most " + number(experts) +
                                         ", the number of experts, found ep " + number(at.ep)};
    u64 const each = experts / block.size, more = experts % block.size;
    u64 const begin = block.rank * each + std::min<u64>(block.rank, more), count = each + (block.rank < more);
    rank_experts r;
    for (u64 e = 0; e <= experts; ++e) {
      auto const before = e < begin ? 0 : std::min(e - begin, count);
      r.first.push_back(static_cast<u32>(before));
    }
    for (u32 slot = 0; slot < count; ++slot) r.slots.push_back(slot);
    return r;
  }
  auto const no = [&](std::string expected, std::string found) {
    return error{error_kind::plan, "the table of experts" +
                                       (table->layer ? " of layer " + number(*table->layer) : std::string{}) +
                                       ": expected " + std::move(expected) + ", found " + std::move(found)};
  };
  if (table->blocks.size() != at.ep)
    return no("one list of experts for each of ep " + number(at.ep) + " blocks of ranks",
              number(table->blocks.size()) + " lists");
  std::vector<u32> copies(experts);
  for (std::size_t b = 0; b < table->blocks.size(); ++b) {
    if (table->blocks[b].empty()) return no("at least one expert in each block", "none in block " + number(b));
    for (u32 const e : table->blocks[b]) {
      if (e >= experts) return no("experts below " + number(experts), "expert " + number(e) + " in block " + number(b));
      ++copies[e];
    }
  }
  if (auto const lost = std::find(copies.begin(), copies.end(), 0u); lost != copies.end())
    return no("each of " + number(experts) + " experts in some block",
              "expert " + number(static_cast<u64>(lost - copies.begin())) + " in none");
  auto const& mine = table->blocks[block.rank];
  rank_experts r;
  r.first.assign(experts + 1, 0);
  for (u32 const e : mine) ++r.first[e + 1];
  for (u64 e = 0; e < experts; ++e) r.first[e + 1] += r.first[e];
  r.slots.resize(mine.size());
  auto next = r.first;
  for (u32 slot = 0; slot < mine.size(); ++slot) r.slots[next[mine[slot]]++] = slot;
  return r;
}
}  // namespace detail
PENSTOCK_END
