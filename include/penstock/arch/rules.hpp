#pragma once
#include <array>
#include <cstdlib>

#include <penstock/arch/name.hpp>
#include <penstock/arch/rule.hpp>

PENSTOCK_BEGIN
namespace arch {
/// A list of rules: a map, or a block to build maps from.
template <std::size_t Count>
struct rule_list {
  std::array<rule, Count> list;
};

namespace detail {
constexpr rule_list<1> listed(rule const& r) { return {{r}}; }
template <std::size_t Count>
constexpr rule_list<Count> const& listed(rule_list<Count> const& l) {
  return l;
}
// Not constexpr: calling it ends constant evaluation.
[[noreturn]] inline void a_way_of_either_holds_no_other_either() { std::abort(); }
template <class T>
inline constexpr std::size_t count_of = 1;
template <std::size_t Count>
inline constexpr std::size_t count_of<rule_list<Count>> = Count;
}  // namespace detail

/// Rules and groups of rules, one after the other.
template <class... Rules>
constexpr auto rules(Rules const&... r) {
  rule_list<(0 + ... + detail::count_of<Rules>)> all{};
  std::size_t at = 0;
  auto add = [&](auto const& group) {
    for (auto const& one : group.list) all.list[at++] = one;
  };
  (add(detail::listed(r)), ...);
  return all;
}

/// Where a rule stands, for the compiler's messages; nobody writes it. (Clang 14 lacks std::source_location.)
struct call_site {
  u32 line;
  char const* file;
  static constexpr call_site here(u32 line = __builtin_LINE(), char const* file = __builtin_FILE()) noexcept {
    return {line, file};
  }
};

/// One tensor, by its full name: [n], [n, k], [n, k, inner], and up to five dimensions.
constexpr rule tensor(std::string_view name, dim n, call_site at = call_site::here()) {
  rule r;
  r.path[3] = name, r.n = n, r.k = 1, r.inner = 1, r.rank = 1, r.line = at.line, r.file = at.file;
  return r;
}
constexpr rule tensor(std::string_view name, dim n, dim k, call_site at = call_site::here()) {
  auto r = tensor(name, n, at);
  return r.k = k, r.rank = 2, r;
}
constexpr rule tensor(std::string_view name, dim n, dim k, dim inner, call_site at = call_site::here()) {
  auto r = tensor(name, n, k, at);
  return r.inner = inner, r.rank = 3, r;
}
constexpr rule tensor(std::string_view name, dim n, dim k, dim inner, dim fourth, call_site at = call_site::here()) {
  auto r = tensor(name, n, k, inner, at);
  return r.more[0] = fourth, r.rank = 4, r;
}
constexpr rule tensor(std::string_view name, dim n, dim k, dim inner, dim fourth, dim fifth,
                      call_site at = call_site::here()) {
  auto r = tensor(name, n, k, inner, fourth, at);
  return r.more[1] = fifth, r.rank = 5, r;
}
/// A linear layer [n, k], by its module's name: the quant scheme appends `.weight`, its scales and the bias.
constexpr rule linear(std::string_view module, dim n, dim k, call_site at = call_site::here()) {
  auto r = tensor(module, n, k, at);
  return r.what = rule::linear, r;
}
/// A linear layer that no scheme quantises.
constexpr rule plain(std::string_view module, dim n, dim k, call_site at = call_site::here()) {
  auto r = linear(module, n, k, at);
  return r.never_quantised = true, r;
}
/// A module of numbers for each of [n]: the weight of a norm, and its bias.
constexpr rule plain(std::string_view module, dim n, call_site at = call_site::here()) {
  auto r = plain(module, n, 1, at);
  return r.rank = 1, r;
}
/// A tensor that may be there and is not wanted.
constexpr rule skip(std::string_view name, call_site at = call_site::here()) {
  auto r = tensor(name, 1, at);
  return r.ignored = r.may_be_absent = true, r;
}
/// Where the condition holds, `name` means the parameter `of`; a stored copy is known and not read.
constexpr rule tie(std::string_view name, std::string_view of, call_site at = call_site::here()) {
  auto r = skip(name, at);
  return r.tied_to = of, r;
}
/// A parameter that no file has and that is made when its source, an unfused linear of the same map, is complete: in the
/// model's dtype, whatever scheme the source is stored in. It has no tensors, so `--digest` has no line of it.
constexpr rule derived(std::string_view name, std::string_view source, head_rows step,
                       call_site at = call_site::here()) {
  auto r = tensor(source, 1, at);
  return r.what = rule::derived, r.to[2] = name, r.step = step, r.as_numbers = true, r;
}
/// No scheme quantises the linears inside, whatever the config declares.
template <class... Rules>
constexpr auto not_quantised(Rules const&... r) {
  auto g = rules(r...);
  for (auto& one : g.list) one.never_quantised = true;
  return g;
}
/// The rules inside hold where the config's flag does, or where it does not.
template <class... Rules>
constexpr auto when(dim flag, Rules const&... r) {
  auto g = rules(r...);
  for (auto& one : g.list) one = one.when(flag);
  return g;
}
template <class... Rules>
constexpr auto unless(dim flag, Rules const&... r) {
  auto g = rules(r...);
  for (auto& one : g.list) one = one.unless(flag);
  return g;
}
/// What these rules claim is known and not wanted.
template <class... Rules>
constexpr auto skipped(Rules const&... r) {
  auto g = rules(r...);
  for (auto& one : g.list) one.ignored = true;
  return g;
}
/// The rules inside become consecutive row blocks of one parameter.
template <class... Rules>
constexpr auto fuse(std::string_view name, Rules const&... r) {
  auto g = rules(r...);
  for (std::size_t i = 0; i < g.list.size(); ++i)
    g.list[i].to[2] = name, g.list[i].piece = static_cast<u8>(i), g.list[i].pieces = static_cast<u8>(g.list.size());
  return g;
}
/// The rules inside exist for every value [lo, hi) of the `*` in `scope` (layers).
template <class... Rules>
constexpr auto each(std::string_view scope, dim lo, dim hi, Rules const&... r) {
  auto g = rules(r...);
  for (auto& one : g.list) one.path[1] = one.to[1] = scope, one.each[0] = {lo, hi};
  return g;
}
/// The rules inside, for some layers of their range.
template <class... Rules>
constexpr auto in_layers(layer_set which, Rules const&... r) {
  auto g = rules(r...);
  for (auto& one : g.list) one.only = which;
  return g;
}
/// As each(), for [0, count); the values are stacked into one parameter [experts, ...].
template <class... Rules>
constexpr auto experts(std::string_view scope, dim count, Rules const&... r) {
  auto g = rules(r...);
  for (auto& one : g.list)
    one.path[2] = scope, one.each[1] = {0, count}, one.stacked = true, one.over = rank_group::experts;
  return g;
}
/// Experts that lie in one tensor, [count, ...] of what a rule inside says: as many as experts() reads one by one.
template <class... Rules>
constexpr auto experts_in_one(dim count, Rules const&... r) {
  auto g = rules(r...);
  for (auto& one : g.list) one.slices = count, one.stacked = true, one.over = rank_group::experts;
  return g;
}
/// Ways in which one model is stored. A checkpoint has one of them: that of which it has most names; with none, the first.
/// The same ways in several places are one choice.
template <class... Ways>
constexpr auto either(Ways const&... ways) {
  auto all = rules(ways...);
  auto const name = name_of(all.list[0]);
  fnv id;
  id.add(name.view());
  std::size_t at = 0;
  u8 way = 0;
  auto mark = [&](std::size_t count) {
    for (std::size_t i = 0; i < count; ++i, ++at) {
      if (all.list[at].choice) detail::a_way_of_either_holds_no_other_either();  // guard: either_in_either
      all.list[at].choice = id.hash, all.list[at].way = way;
    }
    ++way;
  };
  (mark(detail::count_of<Ways>), ...);
  return all;
}
/// The first or the last pipeline stage has the rules inside.
template <class... Rules>
constexpr auto on_stage(stage s, Rules const&... r) {
  auto g = rules(r...);
  for (auto& one : g.list) one.at = s;
  return g;
}
/// The rules inside are divided over this group of ranks.
template <class... Rules>
constexpr auto shared_by(rank_group group, Rules const&... r) {
  auto g = rules(r...);
  for (auto& one : g.list) one.over = group;
  return g;
}
/// The same rules, one name segment deeper.
template <class Rules>
constexpr auto under(std::string_view prefix, Rules g) {
  for (auto& one : g.list) one.path[0] = one.to[0] = prefix;
  return g;
}

/// The same rules for a file whose names begin so; the parameters keep theirs.
template <class Rules>
constexpr auto stored_under(std::string_view prefix, Rules g) {
  for (auto& one : g.list) one.path[0] = prefix;
  return g;
}
/// The same rules for a file in which names that begin with `begin.` begin with `instead.`; the parameters keep theirs.
template <class Rules>
constexpr auto stored_as(std::string_view begin, std::string_view instead, Rules g) {
  for (auto& one : g.list) {
    auto& name = one.path[!one.path[1].empty() ? 1 : !one.path[2].empty() ? 2 : 3];
    if (!name.starts_with(begin) || name.size() <= begin.size() || name[begin.size()] != '.') continue;
    if (one.to[2].empty()) one.to[2] = one.path[3];
    name.remove_prefix(begin.size() + 1);
    one.path[0] = instead;
  }
  return g;
}
/// The parameters of the rules inside are called so: `name` and their own, without layer.
template <class Rules>
constexpr auto into(std::string_view name, Rules g) {
  for (auto& one : g.list) one.to[0] = name, one.to[1] = std::string_view();
  return g;
}

/// Do two rules claim the same name at the same time?
constexpr bool same_claim(rule const& a, rule const& b) {
  for (unsigned i = 0; i < 4; ++i)
    if (a.path[i] != b.path[i]) return false;
  if (a.what == rule::derived && a.to[2] != b.to[2]) return false;
  return a.what == b.what && !exclusive(a, b);
}
/// `base`, with every rule that claims what one of `r` claims replaced by it. To replace what is not there is an error.
template <std::size_t Count, class... Rules>
constexpr auto override_rules(rule_list<Count> const& base, Rules const&... r) {
  auto all = rules(base, r...);
  for (std::size_t mine = Count; mine < all.list.size(); ++mine) {
    bool found = false;
    for (std::size_t theirs = 0; theirs < Count; ++theirs)
      if (auto &o = all.list[theirs], &n = all.list[mine]; o.what != rule::removed && same_claim(o, n)) {
        o.what = rule::removed, found = true;
        if (!n.choice) n.choice = o.choice, n.way = o.way;  // where the replaced one stands
      }
    if (!found) all.list[mine].orphan = true;
  }
  return all;
}

/// The map that takes every tensor as it is: no names, no shapes, whole on every rank.
struct identity_map {
  std::array<rule, 0> list;
};
}  // namespace arch
PENSTOCK_END
