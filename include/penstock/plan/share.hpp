#pragma once
#include <algorithm>
#include <string>

#include <penstock/arch/rule.hpp>
#include <penstock/core/result.hpp>
#include <penstock/core/shape.hpp>

PENSTOCK_BEGIN
namespace detail {
/// The elements [first, first + count) of an axis.
struct extent {
  u64 first = 0, count = 0;
};

/// What a rank keeps of a logical axis: `mine` in the checkpoint, `local` in the parameter. What is more is zeros.
struct share {
  extent mine;
  u64 local = 0;
};

/// The numbers of a rule, once the config has been read.
struct bound_rule {
  bool active = false;
  bool other_way = false;  ///< not active, as the checkpoint stores the same in another way: see arch::either
  bool bias = false;
  std::array<u64, 2> lo{}, hi{};  ///< values of the layer and of the expert wildcard; [0, 1) where there is none
  /// How many layers (0) or experts (1) there are.
  constexpr u64 count(unsigned wildcard) const noexcept { return hi[wildcard] - std::min(lo[wildcard], hi[wildcard]); }
  u64 n = 1, k = 1;
  shape further{};  ///< extents of a tensor beyond those
  u64 slices = 0;   ///< experts in one tensor
  u64 heads = 0, vocab_unit = 0, share_unit = 0;
  u64 head = 0, first = 0, taken = 0;  ///< of what is derived: rows of a head, and which of them
};

constexpr u64 up_to(u64 n, u64 unit) noexcept { return (n + unit - 1) / unit * unit; }

/// "1, 2, 4, 8": the sizes up to 64 that would do.
inline std::string divisors_of(u64 n) {
  std::string s;
  for (u64 d = 1; d <= n && d <= 64; ++d)
    if (n % d == 0) s += (s.empty() ? "" : ", ") + std::to_string(d);
  return s;
}

/// What rank `at` keeps of axis `along` of the linear or tensor of rule `r`, in logical elements; of its rows, those of
/// one block.
/// @errors plan: heads or elements that do not divide
/// @source GQA: each KV head goes to size / heads neighbouring ranks where there are more ranks than heads (vLLM, SGLang)
inline result<share> share_of(arch::rule const& r, bound_rule const& b, quant::axis::along along, group_place at) {
  using arch::split;
  bool const rows = along == quant::axis::out_features;
  u64 const length = rows ? b.n / r.row_blocks() : along == quant::axis::in_features ? b.k / r.column_blocks() : 1;
  bool const cut = rows ? r.how != split::whole && r.how != split::by_in
                        : along == quant::axis::in_features && r.how == split::by_in;
  if (!cut) return share{{0, length}, length};
  if (r.how == split::on_first) return share{{0, at.rank ? 0 : length}, length};
  auto refuse = [&](u64 units, char const* what) {
    auto const name = arch::name_of(r);
    return error{error_kind::plan, std::string{name.view()} + ": " + std::to_string(units) + " " + what +
                                       " cannot be divided over " + std::to_string(at.size) + " ranks"};
  };
  if (r.how == split::by_vocab) {
    u64 const unit = b.vocab_unit ? b.vocab_unit : at.size, padded = up_to(length, unit);
    if (padded % at.size) return refuse(padded, "rows (padded vocabulary)");
    u64 const each = padded / at.size, lo = std::min(length, each * at.rank), hi = std::min(length, lo + each);
    return share{{lo, hi - lo}, each};
  }
  if (b.share_unit || r.padded) {
    u64 const unit = std::max<u64>(1, b.share_unit), units = up_to(length, unit) / unit;
    if (!r.padded && length % unit) return refuse(length, rows ? "rows" : "columns");
    if (!r.padded && units % at.size)
      return refuse(units, ("units of " + std::to_string(unit) + (rows ? " rows" : " columns")).c_str());
    u64 const each = up_to(units, at.size) / at.size * unit, lo = std::min(length, each * at.rank);
    return share{{lo, std::min(length, lo + each) - lo}, each};
  }
  bool const by_heads = r.how == split::by_heads || r.how == split::by_kv_heads;
  u64 const units = by_heads ? b.heads : length;
  if (by_heads && (!units || length % units)) {
    auto const name = arch::name_of(r);
    char const* key = r.heads.terms[0].keys[0];
    return error{error_kind::config, "config.json: expected \"" + std::string{key ? key : "heads"} +
                                         "\" to divide the " + std::to_string(length) + " rows of " +
                                         std::string{name.view()} + ", found " + std::to_string(units)};
  }
  u64 const width = length / (units ? units : 1);
  if (r.how == split::by_kv_heads && at.size > units && at.size % units == 0)
    return share{{at.rank / (at.size / units) * width, width}, width};
  if (units % at.size)
    return refuse(units, r.how == split::by_kv_heads ? "KV heads" : by_heads ? "heads" : rows ? "rows" : "columns");
  u64 const each = units / at.size * width;
  return share{{each * at.rank, each}, each};
}

/// The same share, in units of what a part stores. Architectures and schemes meet here and nowhere else.
/// @param total   the logical length of the axis
/// @param per     logical elements that one stored element covers
/// @param last    is this the last piece of its parameter? Only that may end in an incomplete unit, and only where ranks
///                do not share it: each rank's block of a fused parameter is whole units (as in vLLM and SGLang)
/// @errors plan: the share cuts a unit
inline result<share> stored(share s, u64 total, quant::axis const& a, u64 per, bool last, arch::rule const& r,
                            std::string_view suffix) {
  if (a.of == quant::axis::one) return share{{0, 1}, 1};
  if (per == 1) return s;
  bool const stacks = r.pieces > 1 && a.of == quant::axis::out_features;  // with other pieces, along this axis
  bool const may_end_in_part = a.ragged && s.mine.count == total && (!stacks || (last && r.how == arch::split::whole));
  if (s.mine.first % per || (s.mine.count % per && !may_end_in_part)) {
    auto const name = arch::name_of(r, suffix);
    return error{error_kind::plan, std::string{name.view()} + ": the share [" + std::to_string(s.mine.first) + ", " +
                                       std::to_string(s.mine.first + s.mine.count) + ") cuts a unit of " +
                                       std::to_string(per)};
  }
  return share{{s.mine.first / per, (s.mine.count + per - 1) / per}, (s.local + per - 1) / per};
}
}  // namespace detail
PENSTOCK_END
