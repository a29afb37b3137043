#pragma once
#include <array>
#include <string_view>

#include <penstock/core/topology.hpp>
#include <penstock/quant/scheme.hpp>

PENSTOCK_BEGIN
namespace arch {
/// How a linear [N, K] or a tensor is divided among the ranks of its group.
enum class split : u8 {
  whole,
  by_out,       ///< rows of N
  by_in,        ///< columns of K
  by_vocab,     ///< rows, padded with zeros to a unit
  by_heads,     ///< rows, whole heads
  by_kv_heads,  ///< rows, whole heads, each on several ranks where there are more ranks than heads
  on_first,     ///< whole on the first rank of the group, zeros on the others
};

/// The pipeline stages that have a rule's parameters: those of its layers (all, where it has none), the first or the last.
enum class stage : u8 { of_layer, first, last };

/// The values [lo, hi) that a `*` stands for.
struct bound {
  dim lo{}, hi{};
  constexpr bool operator==(bound const&) const = default;
};

/// Layers of a range, where config.json mixes them: `mlp_only_layers` and `decoder_sparse_step` say which have experts.
enum class layer_set : u8 { all, with_experts, without_experts };

/// What a parameter that no file has is made of: of each head, some rows of a linear, as plain numbers.
struct head_rows {
  dim head{};            ///< rows that the linear has for one head
  dim first{}, count{};  ///< of them
  bool by_column = false;
  /// [heads, K, count] instead of [heads, count, K].
  constexpr head_rows transposed() const { return {head, first, count, true}; }
};
constexpr head_rows rows_of_head(dim head, dim first, dim count) { return {head, first, count, false}; }

/// One line of a weight map: which checkpoint name becomes which (piece of a) parameter, and how ranks share it.
struct rule {
  enum kind : u8 { tensor, linear, derived, removed } what = tensor;
  /// Prefix, layer scope, expert scope, own name; joined by dots. `*` stands for a whole number.
  std::array<std::string_view, 4> path{std::string_view(), std::string_view(), std::string_view(), std::string_view()};
  /// Prefix, layer scope, own name of the parameter. An empty own name: as in the checkpoint.
  std::array<std::string_view, 3> to{std::string_view(), std::string_view(), std::string_view()};
  std::array<bound, 2> each{};  ///< of the layer wildcard and of the expert wildcard
  dim n, k, inner;              ///< [n, k] of a linear; [n, k, inner] of a tensor, 1 where it has fewer dimensions
  std::array<dim, 2> more{};    ///< of a tensor of four or five dimensions, the last ones
  u8 rank = 2;                  ///< dimensions of a tensor
  dim heads;                    ///< for the splits by heads
  dim vocab_unit;               ///< rows are padded to a multiple of it; zero: to a multiple of the ranks
  dim share_unit;               ///< by_out, by_in: what ranks take is whole units of so many
  bool padded = false;       ///< by_out, by_in: the last ranks may have fewer units, or none, and zeros in their place
  dim only_if, not_if;       ///< config flags: a number that is (not) zero
  bool conditional = false;  ///< does `only_if` count?
  dim bias_if;
  dtype type = dtype::any_float;
  split how = split::whole;
  rank_group over = rank_group::dense;
  stage at = stage::of_layer;
  u8 piece = 0, pieces = 1;  ///< of a fused parameter
  bool stacked = false;      ///< experts: one more, outermost, dimension
  dim slices;     ///< experts that one tensor holds, its outermost dimension; zero: a tensor has no such dimension
  u8 blocks = 1;  ///< equal blocks of rows (by_in: of columns) in one tensor, each of which is divided by itself
  layer_set only = layer_set::all;
  u64 choice = 0;  ///< which either() it stands in; 0: none
  u8 way = 0;      ///< and which of its ways
  bool never_quantised = false;
  bool has_bias = false;
  bool ignored = false;  ///< known and not wanted
  bool may_be_absent = false;
  bool as_numbers = false;     ///< wanted in plain numbers, whatever the scheme
  bool orphan = false;         ///< an override that found nothing to replace
  head_rows step{};            ///< of a derived parameter, whose path names its source
  std::string_view tied_to{};  ///< not empty: where the condition holds, this name means that parameter
  char const* file = "";
  u32 line = 0;

  constexpr rule with(auto change) const {
    auto r = *this;
    change(r);
    return r;
  }
  constexpr rule by_out() const {
    return with([](rule& r) { r.how = split::by_out; });
  }
  constexpr rule by_in() const {
    return with([](rule& r) { r.how = split::by_in; });
  }
  /// @param unit  rows are padded with zeros to a multiple of it; 0: to a multiple of the ranks
  constexpr rule by_vocab(dim unit = 64) const {
    return with([&](rule& r) { r.how = split::by_vocab, r.over = rank_group::vocab, r.vocab_unit = unit; });
  }
  constexpr rule by_heads(dim count) const {
    return with([&](rule& r) { r.how = split::by_heads, r.heads = count; });
  }
  constexpr rule by_kv_heads(dim count) const {
    return with([&](rule& r) { r.how = split::by_kv_heads, r.heads = count; });
  }
  /// What a rank takes of rows (by_out) or columns (by_in) is whole units: 2 keeps the pairs of halves that are stored in
  /// turn (gate, up, gate, up, ...) together.
  constexpr rule in_units_of(dim count) const {
    return with([&](rule& r) { r.share_unit = count; });
  }
  /// Units that do not divide: each rank has as many as the first, the last ones zeros where there are no more.
  constexpr rule padded_with_zeros() const {
    return with([](rule& r) { r.padded = true; });
  }
  /// Whole on the first rank of its group, zeros on the others: what ranks add up.
  constexpr rule on_first_rank() const {
    return with([](rule& r) { r.how = split::on_first; });
  }
  /// The parameter's own name, where it is not the checkpoint's.
  constexpr rule as(std::string_view name) const {
    return with([&](rule& r) { r.to[2] = name; });
  }
  constexpr rule stored_as(dtype t) const {
    return with([&](rule& r) { r.type = t; });
  }
  constexpr rule on(stage s) const {
    return with([&](rule& r) { r.at = s; });
  }
  constexpr rule when(dim flag) const {
    return with([&](rule& r) { r.only_if = flag, r.conditional = true; });
  }
  constexpr rule unless(dim flag) const {
    return with([&](rule& r) { r.not_if = flag; });
  }
  constexpr rule bias(dim flag = 1) const {
    return with([&](rule& r) { r.has_bias = !flag.zero(), r.bias_if = flag; });
  }
  /// The tensor is `count` equal row blocks (q, k, v; gate, up), and each rank has its share of each. Where columns are
  /// divided (by_in; experts stored as [K, N]), blocks of columns.
  constexpr rule holds(u8 count) const {
    return with([&](rule& r) { r.blocks = count; });
  }
  constexpr rule optional() const {
    return with([](rule& r) { r.may_be_absent = true; });
  }
  /// In the model's own dtype: where a scheme stores this module otherwise, that is a plan error. While compiling, every
  /// scheme must be able to give plain numbers.
  constexpr rule in_model_dtype() const {
    return with([](rule& r) { r.as_numbers = true; });
  }

  /// Blocks along the rows, and along the columns.
  constexpr u64 row_blocks() const { return how == split::by_in ? 1 : blocks; }
  constexpr u64 column_blocks() const { return how == split::by_in ? blocks : 1; }
  constexpr bool live() const { return what != removed && !ignored; }
};

/// The name that a rule claims: its path and `suffix`, `*` kept. Long enough for every public architecture.
struct spelled_name {
  std::array<char, 160> text{};
  unsigned length = 0;
  constexpr void add(char c) noexcept {
    if (length < text.size()) text[length++] = c;
  }
  constexpr void add(std::string_view s) noexcept {
    for (char c : s) add(c);
  }
  constexpr std::string_view view() const& noexcept { return {text.data(), length}; }
  void view() && = delete;  // guard: name_of_a_temporary
};
constexpr spelled_name name_of(rule const& r, std::string_view suffix = {}) noexcept {
  spelled_name s;
  for (auto const& p : r.path)
    if (!p.empty()) {
      if (s.length) s.add('.');
      s.add(p);
    }
  s.add(suffix);
  return s;
}
/// The name of the parameter that a rule writes, `*` kept.
constexpr spelled_name target_of(rule const& r, std::string_view suffix = {}) noexcept {
  spelled_name s;
  for (unsigned i = 0; i < 2; ++i)
    if (!r.to[i].empty()) s.add(r.to[i]), s.add('.');
  s.add(r.to[2].empty() ? r.path[3] : r.to[2]);
  if (!suffix.empty() && r.stacked) s.add('_'), suffix.remove_prefix(1);
  s.add(suffix);
  return s;
}

// May two rules never hold at the same time? Decided from the text of their conditions: equal dims are equal numbers.
constexpr bool disjoint(bound const& a, bound const& b) noexcept {
  auto before = [](dim const& hi, dim const& lo) {
    return hi == lo || (hi.constant() && lo.constant() && hi.terms[0].factor <= lo.terms[0].factor);
  };
  return before(a.hi, b.lo) || before(b.hi, a.lo);
}
constexpr bool exclusive(rule const& a, rule const& b) noexcept {
  if (a.choice && a.choice == b.choice && a.way != b.way) return true;
  if (a.only != b.only && a.only != layer_set::all && b.only != layer_set::all) return true;
  if (a.conditional && a.only_if == b.not_if) return true;
  if (b.conditional && b.only_if == a.not_if) return true;
  for (unsigned i = 0; i < 2; ++i)
    if (!a.each[i].hi.zero() && !b.each[i].hi.zero() && disjoint(a.each[i], b.each[i])) return true;
  return false;
}
constexpr bool same_scope(rule const& a, rule const& b) noexcept {
  return a.each[0] == b.each[0] && a.conditional == b.conditional && a.only_if == b.only_if && a.not_if == b.not_if &&
         a.stacked == b.stacked && a.only == b.only && a.choice == b.choice && a.way == b.way;
}
}  // namespace arch
PENSTOCK_END
