#pragma once
#include <array>
#include <optional>
#include <vector>

#include <penstock/core/bytes.hpp>

PENSTOCK_BEGIN
/// Which group of ranks shares a tensor. Engines size these groups apart: data-parallel attention, expert parallelism.
enum class rank_group : u8 { attention, dense, experts, vocab, vision };

/// The size of a group of ranks, and this rank's place in it.
struct group_place {
  u32 size = 1;
  u32 rank = 0;
  constexpr bool operator==(group_place const&) const = default;
};

/// The layers [first, end) of a model.
struct layer_range {
  u32 first = 0, end = 0;
  constexpr bool operator==(layer_range const&) const = default;
};

/// Which experts lie in the slots of each block of ranks: an expert may have several, in one block or in many.
struct expert_table {
  std::optional<u32> layer{};              ///< by its number in the checkpoint; none: every layer that has no own table
  std::vector<std::vector<u32>> blocks{};  ///< of each of the ep blocks, the experts in the order of its slots
  bool operator==(expert_table const&) const = default;
};

/// How the ranks divide the model, and which of them this one is: `topology{.tp = 8, .rank = 3}`.
///
/// There are tp * pp ranks, rank = pp_rank * tp + tp_rank. `ep` divides `tp`: experts are spread over ep blocks of
/// ranks, and each block splits an expert over tp / ep. Where ep does not divide their number, the first blocks own one
/// more; more blocks than experts are a plan error. A pipeline stage has an equal part of the layers, the last stages one
/// more where they do not divide; the first has the embedding, the last the final norm and the head.
struct topology {
  u32 tp = 1;
  u32 ep = 1;
  u32 pp = 1;
  u32 rank = 0;
  /// A group that is not the tensor-parallel one, by `rank_group`.
  std::array<std::optional<group_place>, 5> groups{};
  /// How many layers each pipeline stage has, where they are not as equal as can be.
  std::vector<u32> stage_layers{};
  /// Where experts lie, where not each once and in equal blocks; at most one table for a layer.
  std::vector<expert_table> experts{};

  constexpr u32 ranks() const noexcept { return tp * pp; }
  constexpr group_place of(rank_group g) const noexcept {
    if (auto const& own = groups[static_cast<unsigned>(g)]) return *own;
    u32 const at = rank % tp;
    return g == rank_group::experts ? group_place{tp / ep, at % (tp / ep)} : group_place{tp, at};
  }
  /// This rank's pipeline stage.
  constexpr group_place stage() const noexcept { return {pp, rank / tp}; }
  constexpr bool first_stage() const noexcept { return stage().rank == 0; }
  constexpr bool last_stage() const noexcept { return stage().rank + 1 == pp; }
  /// Of the layers [all.first, all.end), those of this rank's stage.
  constexpr layer_range layers_here(layer_range all) const noexcept {
    u32 const at = stage().rank;
    if (!stage_layers.empty()) {
      u32 begin = all.first;
      for (u32 i = 0; i < at; ++i) begin += stage_layers[i];
      return {begin, begin + stage_layers[at]};
    }
    u32 const each = (all.end - all.first) / pp, more = (all.end - all.first) % pp, even = pp - more;
    u32 const first = all.first + at * each + (at > even ? at - even : 0);
    return {first, first + each + (at >= even)};
  }
  /// The block of experts that this rank owns.
  constexpr group_place expert_block() const noexcept { return {ep, rank % tp / (tp / ep)}; }
};
PENSTOCK_END
