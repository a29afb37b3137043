#pragma once
#include <array>
#include <optional>

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

/// How the ranks divide the model, and which of them this one is: `topology{.tp = 8, .rank = 3}`.
///
/// There are tp * pp ranks, rank = pp_rank * tp + tp_rank. `ep` divides `tp`: experts are spread over ep blocks of
/// ranks, and each block splits an expert over tp / ep. Where ep does not divide their number, the first blocks own one
/// more; more blocks than experts are a plan error.
struct topology {
  u32 tp = 1;
  u32 ep = 1;
  u32 pp = 1;
  u32 rank = 0;
  /// A group that is not the tensor-parallel one, by `rank_group`.
  std::array<std::optional<group_place>, 5> groups{};

  constexpr u32 ranks() const noexcept { return tp * pp; }
  constexpr group_place of(rank_group g) const noexcept {
    if (auto const& own = groups[static_cast<unsigned>(g)]) return *own;
    u32 const at = rank % tp;
    return g == rank_group::experts ? group_place{tp / ep, at % (tp / ep)} : group_place{tp, at};
  }
  /// The block of experts that this rank owns.
  constexpr group_place expert_block() const noexcept { return {ep, rank % tp / (tp / ep)}; }
};
PENSTOCK_END
