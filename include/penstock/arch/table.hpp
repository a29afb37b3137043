#pragma once
#include <algorithm>

#include <penstock/arch/map_view.hpp>
#include <penstock/arch/rules.hpp>

PENSTOCK_BEGIN
namespace arch {
/// What can be wrong with a map, found while compiling.
enum class map_fault : u8 {
  none,
  bad_name,
  number_without_range,
  range_without_number,
  linear_takes_a_module_name,
  override_replaces_nothing,
  two_rules_claim_one_tensor,
  parameter_is_never_complete,
  two_rules_write_one_parameter,
  derived_from_nothing,
};
struct found_fault {
  map_fault what = map_fault::none;
  std::size_t first = 0, second = 0;  ///< the rules
  std::size_t suffix = 0;             ///< of the tensor; for a missing piece: its number
};

/// Every suffix that the schemes can give to a linear. [0] is empty, for tensors; [1] is the bias.
struct suffix_list {
  static constexpr std::size_t most = 32;
  std::array<std::string_view, most> text = [] {
    std::array<std::string_view, most> a;
    a.fill(std::string_view());
    return a;
  }();
  std::size_t count = 0;

  constexpr void add(std::string_view s) {
    for (std::size_t i = 0; i < count; ++i)
      if (text[i] == s) return;
    text[count++] = s;
  }
};
template <class... Schemes>
constexpr suffix_list suffixes_of() {
  suffix_list all;
  all.add("");
  all.add(quant::bias.suffix);
  (..., [&] {
    for (auto const& p : Schemes::linear.list) all.add(p.suffix);
  }());
  return all;
}

/// A map under a list of schemes: the look-up table over rules x suffixes, and what is wrong with it.
///
/// @cost O(n log n) in lines; each name is hashed once. Clang 14 allows about a million steps of constant evaluation.
template <class Arch, class... Schemes>
struct compiled_map {
  static constexpr auto& rules = Arch::map.list;
  static constexpr suffix_list suffixes = suffixes_of<Schemes...>();

  static constexpr void for_each_suffix(rule const& r, auto visit) {
    if (r.what == rule::removed || r.what == rule::derived) return;
    if (r.what == rule::tensor) return visit(std::size_t{0});
    for (std::size_t s = 1; s < suffixes.count; ++s)
      if (s == 1 ? r.has_bias : !r.never_quantised || suffixes.text[s] == ".weight") visit(s);
  }
  static constexpr std::size_t line_count = [] {
    std::size_t n = 0;
    for (auto const& r : rules) for_each_suffix(r, [&](std::size_t) { ++n; });
    return n;
  }();
  static constexpr std::size_t bucket_count = [] {
    std::size_t b = 8;
    while (b < 2 * line_count) b *= 2;
    return b;
  }();

  struct table_t {
    std::array<table_line, line_count> lines{};
    std::array<u16, bucket_count + 1> buckets{};
    found_fault fault{};
  };
  /// Rules that are wrong by themselves.
  static constexpr found_fault faults_of_rules() {
    for (std::size_t i = 0; i < rules.size(); ++i) {
      auto const& r = rules[i];
      if (r.what == rule::removed) continue;
      if (r.orphan) return {map_fault::override_replaces_nothing, i, i, 0};  // guard: map_override
      // guard-begin: map_module_name
      if (r.what == rule::linear && r.path[3].ends_with(".weight"))
        return {map_fault::linear_takes_a_module_name, i, i, 0};
      // guard-end: map_module_name
      // guard-begin: map_range
      auto const star = [](std::string_view s) { return s.find('*') != s.npos; };
      if (star(r.path[0]) || star(r.path[3])) return {map_fault::number_without_range, i, i, 0};
      for (std::size_t w = 0; w < 2; ++w) {
        auto const scope = r.path[w + 1];
        bool const second = scope.find('*') != scope.rfind('*');  // one range is for one star
        if (star(scope) && (r.each[w].hi.zero() || second)) return {map_fault::number_without_range, i, i, 0};
        if (!star(scope) && !scope.empty()) return {map_fault::range_without_number, i, i, 0};
      }
      // guard-end: map_range
      // guard-begin: map_source
      if (r.what == rule::derived && r.live()) {
        bool found = false;
        for (auto const& s : rules)
          found |= s.what == rule::linear && s.live() && s.path == r.path && s.each[0] == r.each[0] && s.pieces == 1 &&
                   !s.stacked && !exclusive(s, r);
        if (!found) return {map_fault::derived_from_nothing, i, i, 0};
      }
      // guard-end: map_source
    }
    return {};
  }
  /// One tensor, two rules. Equal hashes are neighbours.
  static constexpr found_fault faults_of_claims(table_t const& t) {
    for (std::size_t i = 0; i < line_count; ++i)
      for (std::size_t j = i + 1; j < line_count && t.lines[j].hash == t.lines[i].hash; ++j) {
        auto const &x = t.lines[i], &y = t.lines[j];
        bool apart = exclusive(rules[x.rule], rules[y.rule]);
        for (unsigned s = 0; s < x.numbers; ++s)
          if (!(x.wild >> s & 1) && !(y.wild >> s & 1) && x.value[s] != y.value[s]) apart = true;
        if (!apart)
          return {map_fault::two_rules_claim_one_tensor, std::min<std::size_t>(x.rule, y.rule),
                  std::max<std::size_t>(x.rule, y.rule), x.suffix};
      }
    return {};
  }
  /// Fused parameters that miss a piece; parameters that two rules write.
  static constexpr found_fault faults_of_parameters() {
    struct target {
      u64 hash = 0;
      std::size_t rule = 0;
    };
    std::array<target, rules.size() + 1> targets{};
    std::size_t n = 0;
    for (std::size_t i = 0; i < rules.size(); ++i)
      if (rules[i].live()) {
        fnv h;
        auto const name = target_of(rules[i]);
        h.add(name.view());
        targets[n++] = {h.hash, i};
      }
    std::sort(targets.begin(), targets.begin() + n,
              [](target const& a, target const& b) { return a.hash != b.hash ? a.hash < b.hash : a.rule < b.rule; });
    for (std::size_t first = 0; first < n;) {
      std::size_t end = first;
      while (end < n && targets[end].hash == targets[first].hash) ++end;
      for (std::size_t i = first; i < end; ++i) {
        auto const& r = rules[targets[i].rule];
        // guard-begin: map_complete
        for (unsigned p = 0; r.pieces > 1 && p < r.pieces; ++p) {
          unsigned found = 0;
          for (std::size_t j = first; j < end; ++j) {
            auto const& o = rules[targets[j].rule];
            found += o.piece == p && o.pieces == r.pieces && same_scope(o, r);
          }
          if (found != 1) return {map_fault::parameter_is_never_complete, targets[i].rule, targets[i].rule, p};
        }
        // guard-end: map_complete
        // guard-begin: map_writes_once
        for (std::size_t j = first; j < i; ++j) {
          auto const& o = rules[targets[j].rule];
          bool const siblings = r.pieces > 1 && o.pieces == r.pieces && o.piece != r.piece && same_scope(o, r);
          if (!siblings && !exclusive(o, r))
            return {map_fault::two_rules_write_one_parameter, targets[j].rule, targets[i].rule, 0};
        }
        // guard-end: map_writes_once
      }
      first = end;
    }
    return {};
  }

  static constexpr table_t table = [] {
    table_t t;
    std::size_t n = 0;
    for (std::size_t i = 0; i < rules.size(); ++i) {
      auto const name = name_of(rules[i]);
      auto const base = canonical(name.view());
      bool const number_last =
          name.length && (is_digit(name.text[name.length - 1]) || name.text[name.length - 1] == '*');
      for_each_suffix(rules[i], [&](std::size_t s) {
        auto const suffix = suffixes.text[s];
        auto c = followed_by(base, suffix);
        if (number_last && !suffix.empty() && suffix[0] != '.') {  // `proj.0_blocks`: no number any more
          auto const whole = name_of(rules[i], suffix);
          c = canonical(whole.view());
        }
        // guard-begin: map_name
        if ((c.bad || name.length + suffix.size() >= name.text.size()) && t.fault.what == map_fault::none)
          t.fault = {map_fault::bad_name, i, i, s};
        // guard-end: map_name
        t.lines[n++] = {c.hash, static_cast<u16>(i), static_cast<u8>(s), c.wild, c.numbers, c.value};
      });
    }
    auto bucket = [](table_line const& l) { return l.hash % bucket_count; };
    std::sort(t.lines.begin(), t.lines.end(), [&](table_line const& a, table_line const& b) {
      return bucket(a) != bucket(b) ? bucket(a) < bucket(b) : a.hash < b.hash;
    });
    std::size_t at = 0;
    for (std::size_t b = 0; b <= bucket_count; ++b) {
      while (at < line_count && bucket(t.lines[at]) < b) ++at;
      t.buckets[b] = static_cast<u16>(at);
    }
    if (t.fault.what == map_fault::none) t.fault = faults_of_rules();
    if (t.fault.what == map_fault::none) t.fault = faults_of_claims(t);  // guard: map_claims_once
    if (t.fault.what == map_fault::none) t.fault = faults_of_parameters();
    return t;
  }();
};
}  // namespace arch
PENSTOCK_END
