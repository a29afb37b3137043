#pragma once
#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include <penstock/arch/map_view.hpp>
#include <penstock/format/checkpoint.hpp>
#include <penstock/format/config.hpp>
#include <penstock/plan/share.hpp>

PENSTOCK_BEGIN
namespace detail {
/// Which line of a map claims a name, and the values of its wildcards (layer, expert).
struct hit {
  u32 line = 0;
  std::array<u32, 2> index{};
};

/// A map with a config's numbers put in: active rules, ranges and shapes.
class bound_map {
 public:
  /// @param tensors  what the checkpoint has: matched here, once, which settles each arch::either
  /// @errors config: a number that an active rule needs is not there
  static result<bound_map> bind(map_view const& map, model_config const& config,
                                std::span<checkpoint_tensor const> tensors = {});

  /// @cost one pass over the name, one look-up, one comparison; no allocation
  [[nodiscard]] std::optional<hit> match(std::string_view name) const noexcept;
  /// The same for each of the tensors that `bind` was given, in their order.
  [[nodiscard]] std::vector<std::optional<hit>> const& hits() const& noexcept { return hits_; }

  [[nodiscard]] map_view const& map() const noexcept { return map_; }
  [[nodiscard]] arch::rule const& rule_of(std::size_t line) const noexcept {
    return map_.rules()[map_.lines()[line].rule];
  }
  [[nodiscard]] bound_rule const& bound_of(std::size_t line) const noexcept { return bound_[map_.lines()[line].rule]; }
  [[nodiscard]] std::string_view suffix_of(std::size_t line) const noexcept {
    return map_.suffixes()[map_.lines()[line].suffix];
  }
  [[nodiscard]] std::vector<bound_rule> const& bound() const& noexcept { return bound_; }
  /// Is this line's tensor expected or possible under this config?
  [[nodiscard]] bool possible(std::size_t line) const noexcept {
    auto const& b = bound_of(line);
    return b.active && (b.bias || !is_bias(line));
  }
  [[nodiscard]] bool is_bias(std::size_t line) const noexcept {
    return rule_of(line).what == arch::rule::linear && suffix_of(line) == quant::bias.suffix;
  }
  /// Has this layer of the model, by its own number, what the line says?
  [[nodiscard]] bool in_layer(std::size_t line, u64 layer) const noexcept { return holds_in(rule_of(line), layer); }
  /// The name of the parameter that a line writes, `*` kept.
  [[nodiscard]] arch::spelled_name target(std::size_t line) const noexcept {
    auto const suffix = suffix_of(line);
    for (auto const& s : map_.schemes())
      for (std::size_t i = 0; i < s.count; ++i)
        if (s.parts[i].suffix == suffix && !s.parts[i].called.empty())
          return arch::target_of(rule_of(line), s.parts[i].called);
    return arch::target_of(rule_of(line), suffix);
  }
  /// All lines, in the order in which the map states their rules.
  [[nodiscard]] std::vector<std::size_t> lines_in_order() const;
  /// Are two rules, by their numbers, pieces of one parameter under this config?
  [[nodiscard]] bool are_pieces_of_one(std::size_t a, std::size_t b) const noexcept {
    auto const &x = map_.rules()[a], &y = map_.rules()[b];
    return bound_[a].active && bound_[b].active && x.live() && y.live() && x.pieces == y.pieces && x.to == y.to &&
           arch::same_scope(x, y);
  }
  /// The checkpoint name of a line, its wildcards replaced.
  [[nodiscard]] std::string name(std::size_t line, std::array<u64, 2> index) const;

 private:
  template <class Visit>
  void for_each_claim(std::string_view name, Visit visit) const noexcept;
  void settle(std::span<checkpoint_tensor const> tensors);
  void see_layers(model_config const& config);
  bool holds_in(arch::rule const& r, u64 layer) const noexcept {
    return r.only == arch::layer_set::all || with_experts_[layer] == (r.only == arch::layer_set::with_experts);
  }

  map_view map_;
  std::vector<bound_rule> bound_;
  std::vector<bool> with_experts_;  // by layer, where some rule asks
  std::vector<std::optional<hit>> hits_;
  explicit bound_map(map_view const& m) : map_(m) {}
};

/// `pattern` with its first `*` replaced by a, its second by b.
inline std::string filled_in(std::string_view pattern, u64 a, u64 b) {
  std::string s;
  bool first = true;
  for (char c : pattern)
    if (c == '*') s += std::to_string(first ? a : b), first = false;
    else s += c;
  return s;
}

inline std::vector<std::size_t> bound_map::lines_in_order() const {
  auto const lines = map_.lines();
  std::vector<std::size_t> order(lines.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return lines[a].rule != lines[b].rule ? lines[a].rule < lines[b].rule : lines[a].suffix < lines[b].suffix;
  });
  return order;
}

inline std::string bound_map::name(std::size_t line, std::array<u64, 2> index) const {
  auto const& r = rule_of(line);
  auto const pattern = arch::name_of(r, suffix_of(line));
  return r.path[1].empty() ? filled_in(pattern.view(), index[1], 0) : filled_in(pattern.view(), index[0], index[1]);
}

inline result<bound_map> bound_map::bind(map_view const& map, model_config const& config,
                                         std::span<checkpoint_tensor const> tensors) {
  bound_map m{map};
  std::optional<error> missing;
  arch::rule const* asking = nullptr;
  auto number = [&](char const* key) -> u64 {
    if (auto const n = config.number(key)) return *n;
    if (!missing) {
      auto const name = arch::name_of(*asking);
      missing =
          error{error_kind::config, "expected the number \"" + std::string{key} + "\" in config.json, which " +
                                        std::string{name.view()} + " of architecture " + std::string{map.arch_name()} +
                                        " needs, found none; correct config.json or choose another --arch"};
    }
    return 0;
  };
  for (auto const& r : map.rules()) {
    asking = &r;
    bound_rule b;
    b.active = r.what != arch::rule::removed && (!r.conditional || r.only_if.value(number)) &&
               (r.not_if.zero() || !r.not_if.value(number));
    if (b.active) {
      for (unsigned w = 0; w < 2; ++w) {
        b.lo[w] = r.each[w].lo.value(number);
        b.hi[w] = r.path[w + 1].empty() ? 1 : r.each[w].hi.value(number);
      }
      b.n = r.n.value(number), b.k = r.k.value(number);
      for (unsigned d = 2; d < r.rank; ++d) b.further.push_back((d == 2 ? r.inner : r.more[d - 3]).value(number));
      b.slices = r.slices.value(number);
      b.heads = r.heads.value(number), b.vocab_unit = r.vocab_unit.value(number);
      b.share_unit = r.share_unit.value(number);
      b.head = r.step.head.value(number), b.first = r.step.first.value(number), b.taken = r.step.count.value(number);
      b.bias = r.has_bias && r.bias_if.value(number);
    }
    m.bound_.push_back(b);
  }
  if (missing) return std::move(*missing);
  for (auto const& b : m.bound_)
    for (unsigned w = 0; w < 2; ++w)
      if (b.hi[w] > 1'000'000)
        return error{error_kind::config, "expected at most a million layers or experts, found " +
                                             std::to_string(b.hi[w]) + " in config.json"};
  m.see_layers(config);
  m.settle(tensors);
  return m;
}

/// A 64-bit hash is no proof: does the rule's path with this suffix spell the name?
inline bool spells(arch::rule const& r, std::string_view suffix, std::string_view name) noexcept {
  char const *p = name.data(), *const end = p + name.size();
  auto part = [&](std::string_view s) {
    for (char c : s) {
      if (c == '*') {
        while (p != end && arch::is_digit(*p)) ++p;
      } else if (p == end || *p++ != c) {
        return false;
      }
    }
    return true;
  };
  bool first = true;
  for (auto const& s : r.path)
    if (!s.empty()) {
      if (!first && (p == end || *p++ != '.')) return false;
      first = false;
      if (!part(s)) return false;
    }
  return part(suffix) && p == end;
}

/// Calls visit(hit) for each line that claims the name, until it says that this is enough.
template <class Visit>
void bound_map::for_each_claim(std::string_view name, Visit visit) const noexcept {
  auto const c = arch::canonical(name);
  if (c.bad) return;
  auto const buckets = map_.buckets();
  auto const b = static_cast<std::size_t>(c.hash & (buckets.size() - 2));  // their number is a power of two
  for (u32 i = buckets[b]; i < buckets[b + 1]; ++i) {
    auto const& line = map_.lines()[i];
    if (line.hash != c.hash || line.numbers != c.numbers) continue;
    if (!possible(i)) continue;
    auto const& r = map_.rules()[line.rule];
    auto const& bound = bound_[line.rule];
    hit h{i, {}};
    bool fits = true;
    unsigned w = r.path[1].empty();  // a rule with experts and no layers has its number in index[1]
    for (unsigned s = 0; s < line.numbers; ++s)
      if (line.wild >> s & 1) {
        fits &= c.value[s] >= bound.lo[w] && c.value[s] < bound.hi[w];
        h.index[w++] = c.value[s];
      } else {
        fits &= c.value[s] == line.value[s];
      }
    if (fits && in_layer(i, h.index[0]) && spells(r, suffix_of(i), name) && visit(h)) return;
  }
}

inline std::optional<hit> bound_map::match(std::string_view name) const noexcept {
  std::optional<hit> found;
  for_each_claim(name, [&](hit const& h) { return found = h, true; });
  return found;
}

/// Which layers have experts, where a rule asks; a rule that holds in none of its layers is not active.
inline void bound_map::see_layers(model_config const& config) {
  for (std::size_t i = 0; i < bound_.size(); ++i) {
    auto& b = bound_[i];
    auto const& r = map_.rules()[i];
    if (!b.active || r.only == arch::layer_set::all) continue;
    for (u64 layer = with_experts_.size(); layer < b.hi[0]; ++layer) with_experts_.push_back(config.has_experts(layer));
    b.active = false;
    for (u64 layer = b.lo[0]; layer < b.hi[0]; ++layer) b.active |= holds_in(r, layer);
  }
}

/// Matches the tensors. Of each either(), leaves the way of which there are most names.
inline void bound_map::settle(std::span<checkpoint_tensor const> tensors) {
  auto const rules = map_.rules();
  std::map<u64, std::map<u8, u64>> names;  // by choice and way
  for (std::size_t i = 0; i < rules.size(); ++i)
    if (rules[i].choice && bound_[i].active) names[rules[i].choice][rules[i].way];
  hits_.resize(tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i)
    for_each_claim(tensors[i].name, [&](hit const& h) {
      if (!hits_[i]) hits_[i] = h;
      auto const& r = rule_of(h.line);
      if (!r.choice) return true;
      ++names[r.choice][r.way];
      return false;
    });
  for (std::size_t i = 0; i < rules.size(); ++i) {
    if (!rules[i].choice || !bound_[i].active) continue;
    auto const& ways = names[rules[i].choice];
    auto const best =
        std::max_element(ways.begin(), ways.end(), [](auto const& a, auto const& b) { return a.second < b.second; });
    bound_[i].other_way = rules[i].way != best->first;
    bound_[i].active = !bound_[i].other_way;
  }
  for (std::size_t i = 0; i < tensors.size(); ++i)
    if (hits_[i] && !possible(hits_[i]->line)) hits_[i] = match(tensors[i].name);
}
}  // namespace detail
PENSTOCK_END
