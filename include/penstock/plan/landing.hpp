#pragma once
#include <vector>

#include <penstock/core/shape.hpp>
#include <penstock/plan/bound_map.hpp>

PENSTOCK_BEGIN
namespace detail {
/// Which box of a checkpoint tensor goes where in its parameter, in stored elements. Computed once for a table line.
struct landing {
  unsigned axes = 0;                        ///< 1 or 2; more are `further`
  std::array<u64, 2> stored_extents{1, 1};  ///< of the tensor, as it must be in the file
  std::array<extent, 2> source{};           ///< what this rank takes of it; of its rows, those of the first block
  std::array<u64, 2> first{};               ///< where that begins in the parameter
  std::array<u64, 2> local{};               ///< what this piece occupies there; more than it takes: zeros
  std::array<u64, 2> parameter_extents{1, 1};
  std::array<u64, 2> unit{};  ///< elements of N and of K under one stored element; 0: it runs not along that axis
  shape further{};            ///< the dimensions behind the axes, in the file and, unless folded, in the parameter
  u64 inner = 1;              ///< elements of the further dimensions
  u64 elements_of_k = 1;      ///< of this rank's share of a linear
  bool folded = false;  ///< the parameter has no dimension of its own for them: its last axis is as many times longer
  u64 slices = 0;       ///< boxes of these extents in one tensor, one for each expert; 0: one, and no such dimension
  u64 blocks = 1;       ///< equal blocks of the tensor, from each of which the rank takes the same rows or columns
  unsigned block_axis = 0;

  /// The tensor's shape.
  shape stored_shape() const noexcept {
    shape s;
    if (slices) s.push_back(slices);
    for (unsigned d = 0; d < axes; ++d) s.push_back(stored_extents[d]);
    for (auto const e : further.extents()) s.push_back(e);
    return s;
  }
  /// Adds the parameter's extents to its experts.
  void add_to(shape& s) const noexcept {
    for (unsigned d = 0; d < axes; ++d) s.push_back(parameter_extents[d] * (folded && d + 1 == axes ? inner : 1));
    for (auto const e : further.extents())
      if (!folded) s.push_back(e);
  }
};

/// The part that a line stands for under a scheme; nothing where the scheme has none of that suffix.
inline std::optional<quant::part> part_of(bound_map const& m, std::size_t line, std::size_t scheme) noexcept {
  auto const& r = m.rule_of(line);
  if (r.what == arch::rule::tensor)
    return quant::part{
        "", r.type, {quant::out, r.rank > 1 ? quant::in : quant::axis{}}, quant::part::payload, r.may_be_absent, 1, {}};
  if (m.is_bias(line)) return quant::bias;
  if (r.rank == 1)
    return quant::part{m.suffix_of(line), r.type, {quant::out, quant::axis{}}, quant::part::payload, false, 1, {}};
  auto const& s = m.map().schemes()[r.never_quantised ? 0 : scheme];
  for (std::size_t i = 0; i < s.count; ++i)
    if (s.parts[i].suffix == m.suffix_of(line)) return s.parts[i];
  return std::nullopt;
}

/// @errors plan: what does not divide; config: a number that the scheme needs is not there
inline result<landing> land(bound_map const& m, std::size_t line, quant::part const& p, model_config const& config,
                            topology const& at) {
  auto const rules = m.map().rules();
  auto const& r = m.rule_of(line);
  landing l;
  if (p.what == quant::part::per_piece) {
    l.axes = 1, l.source[0] = {0, 1}, l.first[0] = r.piece, l.local[0] = 1, l.parameter_extents[0] = r.pieces;
    return l;
  }
  l.slices = m.bound_of(line).slices;
  if (p.what == quant::part::note) return l.axes = 1, l.stored_extents[0] = p.inner, l;
  l.further = m.bound_of(line).further;
  if (p.inner > 1) l.further.push_back(p.inner), l.folded = true;
  l.inner = l.further.elements().value_or(~u64{});
  l.blocks = r.blocks, l.block_axis = r.column_blocks() > 1;
  std::optional<error> missing;
  auto number = [&](char const* key) -> u64 {
    if (auto const* d = config.quantization())
      if (auto const n = d->number(key)) return *n;
    if (auto const n = config.number(key)) return *n;
    missing = error{error_kind::config,
                    "expected the number \"" + std::string{key} + "\" in the quantisation config, found " +
                        (config.quantization() ? "none; correct config.json"
                                               : "that config.json declares no quantisation; leave --quant out, or "
                                                 "correct config.json")};
    return 1;
  };
  for (unsigned d = 0; d < 2; ++d) {
    auto const& a = p.axes[d];
    if (a.of == quant::axis::none) break;
    u64 const per = std::max<u64>(1, a.per.value(number));
    if (missing) return std::move(*missing);
    if (a.of == quant::axis::out_features) l.unit[0] = per;
    if (a.of == quant::axis::in_features) l.unit[1] = per;
    auto one = [&](std::size_t rule) -> result<share> {
      auto const& b = m.bound()[rule];
      auto s = share_of(rules[rule], b, a.of, at.of(rules[rule].over));
      if (!s) return s;
      u64 const total =
          a.of == quant::axis::out_features ? b.n / rules[rule].row_blocks() : b.k / rules[rule].column_blocks();
      if (a.of == quant::axis::in_features) l.elements_of_k = s->local;
      return stored(*s, total, a, per, rules[rule].piece + 1 == rules[rule].pieces, rules[rule], p.suffix);
    };
    std::size_t const self = m.map().lines()[line].rule;
    auto const mine = one(self);
    if (!mine) return mine.error();
    auto const& b = m.bound_of(line);
    u64 const total = a.of == quant::axis::out_features ? b.n : a.of == quant::axis::in_features ? b.k : 1;
    l.axes = d + 1;
    l.stored_extents[d] = (total + per - 1) / per;
    l.source[d] = mine->mine, l.local[d] = mine->local, l.parameter_extents[d] = mine->local;
    if (d == l.block_axis) l.parameter_extents[d] *= r.blocks;
    if (a.of == quant::axis::out_features && r.pieces > 1) {  // pieces stack along N, by stored extents
      u64 before = 0, all = 0;
      for (std::size_t i = 0; i < rules.size(); ++i)
        if (m.are_pieces_of_one(i, self)) {
          auto const other = one(i);
          if (!other) return other.error();
          all += other->local * rules[i].row_blocks();
          if (rules[i].piece < r.piece) before += other->local * rules[i].row_blocks();
        }
      l.first[d] = before, l.parameter_extents[d] = all;
    }
  }
  return l;
}
/// What cannot be shared, and each tp up to 64 at which all of the model can, with the ep as it is.
template <class Lands>
error with_sizes(error const& why, topology at, Lands&& lands) {
  std::string sizes;
  unsigned const ep = at.ep;
  for (at.tp = ep; at.tp <= 64; at.tp += ep) {
    at.rank = at.tp - 1;
    bool const last = lands(at);
    at.rank = 0;
    if (last && lands(at)) sizes += (sizes.empty() ? "" : ", ") + std::to_string(at.tp);
  }
  return error{
      why.kind(),
      why.message() + "; for the whole model" + (ep > 1 ? " with this ep" : "") +
          (sizes.empty() ? " no tp up to 64 would do: choose another ep" : " a tp of these would do: " + sizes),
      why.where()};
}
}  // namespace detail
PENSTOCK_END
