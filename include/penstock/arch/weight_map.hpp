#pragma once
#include <utility>

#include <penstock/arch/table.hpp>
#include <penstock/quant/any_of.hpp>

PENSTOCK_BEGIN
namespace arch {
// What the compiler prints: a template whose name is the fault and whose arguments are a tensor's name and the `file:line`
// of the rules. g++ prints a `text` as a string; clang prints it as numbers, so there it becomes a pack of char.
struct text {
  char letters[128]{};
  constexpr text(std::string_view s) {
    for (std::size_t i = 0; i < s.size() && i < 127; ++i) letters[i] = s[i];
  }
  constexpr std::size_t size() const {
    std::size_t n = 0;
    while (letters[n]) ++n;
    return n;
  }
};
#if defined(__clang__)
template <char...>
struct spelt;
template <text T, class = std::make_index_sequence<T.size()>>
struct spell_out;
template <text T, std::size_t... I>
struct spell_out<T, std::index_sequence<I...>> {
  using type = spelt<T.letters[I]...>;
};
template <text T>
using shown = typename spell_out<T>::type;
#else
template <text T>
struct shown;  // never defined: its name is the message
#endif

template <class>
inline constexpr bool never = false;
template <class Name, class RuleAt>
struct bad_name {
  static_assert(
      never<Name>,
      "penstock: a name in this weight map cannot be matched: '*' must be a whole segment, a name has at most four numbers and 159 characters");
};
template <class Name, class RuleAt>
struct number_without_range {
  static_assert(never<Name>, "penstock: a '*' needs a range: put the rule inside each() or experts()");
};
template <class Name, class RuleAt>
struct range_without_number {
  static_assert(never<Name>, "penstock: the scope of each() or experts() needs a '*' for its numbers: model.layers.*");
};
template <class Name, class RuleAt>
struct linear_takes_a_module_name {
  static_assert(
      never<Name>,
      "penstock: linear() takes a module's name, the quant scheme appends .weight and its scales: drop .weight, or use tensor()");
};
template <class Name, class RuleAt>
struct override_replaces_nothing {
  static_assert(
      never<Name>,
      "penstock: override_rules() names what the base map does not have: correct the name, or add it with rules(base, ...)");
};
template <class Tensor, class FirstRuleAt, class SecondRuleAt>
struct two_rules_claim_one_tensor {
  static_assert(
      never<Tensor>,
      "penstock: two rules of this weight map claim one tensor: replace with override_rules(), or give them disjoint layers");
};
template <class Piece, class RuleAt, std::size_t MissingPiece>
struct parameter_is_never_complete {
  static_assert(
      never<Piece>,
      "penstock: a fused parameter of this weight map misses a piece, or its pieces differ in layers or condition");
};
template <class Parameter, class FirstRuleAt, class SecondRuleAt>
struct two_rules_write_one_parameter {
  static_assert(
      never<Parameter>,
      "penstock: two rules of this weight map write one parameter: put them in one fuse(), or name another with as()");
};
template <class Source, class Parameter, class RuleAt>
struct derived_from_nothing {
  static_assert(
      never<Source>,
      "penstock: derived() needs as its source a linear of this weight map that is neither fused nor of experts, in the same layers");
};
template <class Scheme, class Linear, class RuleAt>
struct scheme_cannot_dequantise {
  static_assert(
      never<Scheme>,
      "penstock: this weight map needs a linear as plain numbers (derived, in_model_dtype), and the quant scheme has no `static void dequantise(stored_rows const&, float*)`");
};

constexpr text place_of(rule const& r) {  // "llama.hpp:12"
  std::string_view file = r.file;
  if (auto const slash = file.rfind('/'); slash != file.npos) file.remove_prefix(slash + 1);
  spelled_name s;
  s.add(file), s.add(':');
  char digits[10]{};
  unsigned n = 0;
  for (u32 line = r.line; line; line /= 10) digits[n++] = static_cast<char>('0' + line % 10);
  while (n) s.add(digits[--n]);
  return text{s.view()};
}
constexpr text spelled(rule const& r, std::string_view suffix = {}) {
  auto const s = name_of(r, suffix);
  return text{s.view()};
}
constexpr text parameter_name(rule const& r) {
  auto const s = target_of(r);
  return text{s.view()};
}

/// The first rule that asks for plain numbers, where some scheme cannot give them; else the number of rules.
template <class Arch, class... Schemes>
constexpr std::size_t rule_without_numbers() {
  auto const& list = Arch::map.list;
  if constexpr (!(dequantises<Schemes> && ...))
    for (std::size_t i = 0; i < list.size(); ++i)
      if (list[i].as_numbers && list[i].live()) return i;
  return list.size();
}
template <class First, class... Rest>
constexpr auto scheme_without_numbers() {
  if constexpr (!dequantises<First> || sizeof...(Rest) == 0) return std::type_identity<First>{};
  else return scheme_without_numbers<Rest...>();
}

/// Never called: naming its return type reports what is wrong with a map, once.
template <class Arch, class... Schemes>
auto verdict_on() {
  if constexpr (Arch::map.list.size() > 0) {
    using map = compiled_map<Arch, Schemes...>;
    constexpr auto f = map::table.fault;
    constexpr auto &a = map::rules[f.first], &b = map::rules[f.second];
    if constexpr (f.what == map_fault::bad_name) (void)sizeof(bad_name<shown<spelled(a)>, shown<place_of(a)>>);
    if constexpr (f.what == map_fault::number_without_range)
      (void)sizeof(number_without_range<shown<spelled(a)>, shown<place_of(a)>>);
    if constexpr (f.what == map_fault::range_without_number)
      (void)sizeof(range_without_number<shown<spelled(a)>, shown<place_of(a)>>);
    if constexpr (f.what == map_fault::linear_takes_a_module_name)
      (void)sizeof(linear_takes_a_module_name<shown<spelled(a)>, shown<place_of(a)>>);
    if constexpr (f.what == map_fault::override_replaces_nothing)
      (void)sizeof(override_replaces_nothing<shown<spelled(a)>, shown<place_of(a)>>);
    if constexpr (f.what == map_fault::two_rules_claim_one_tensor)
      (void)sizeof(two_rules_claim_one_tensor<shown<spelled(a, map::suffixes.text[f.suffix])>, shown<place_of(a)>,
                                              shown<place_of(b)>>);
    if constexpr (f.what == map_fault::parameter_is_never_complete)
      (void)sizeof(parameter_is_never_complete<shown<parameter_name(a)>, shown<place_of(a)>, f.suffix>);
    if constexpr (f.what == map_fault::two_rules_write_one_parameter)
      (void)sizeof(two_rules_write_one_parameter<shown<parameter_name(a)>, shown<place_of(a)>, shown<place_of(b)>>);
    if constexpr (f.what == map_fault::derived_from_nothing)
      (void)sizeof(derived_from_nothing<shown<spelled(a)>, shown<parameter_name(a)>, shown<place_of(a)>>);
    // guard-begin: map_numbers
    constexpr std::size_t i = rule_without_numbers<Arch, Schemes...>();
    if constexpr (i < map::rules.size()) {
      using scheme = typename decltype(scheme_without_numbers<Schemes...>())::type;
      constexpr auto& c = map::rules[i];
      (void)sizeof(scheme_cannot_dequantise<scheme, shown<spelled(c)>, shown<place_of(c)>>);
    }
    // guard-end: map_numbers
  }
  return 0;
}
}  // namespace arch

/// A weight map: how an architecture's tensors become parameters. Nothing in it names a scheme.
///
///   A::name   as in `--arch` and messages
///   A::map    `rules(...)` of arch/rules.hpp, or `identity_map{}`
template <class A>
concept weight_map = requires {
  { A::name } -> std::convertible_to<std::string_view>;
  A::map.list.size();
};

namespace detail {
template <class... Schemes>
inline constexpr scheme_view scheme_list[] = {view_of_scheme<Schemes>...};
template <class A, class... Schemes>
auto verified_map() {
  if constexpr (weight_map<A> && (quant_scheme<Schemes> && ...)) return arch::verdict_on<A, Schemes...>();
  else return 0;
}
}  // namespace detail

/// The map of architecture A under the schemes, checked while compiling. `quant::none` is always among them.
template <class A, class... Schemes>
struct weight_map_of {
  // guard-begin: weight_map
  static_assert(weight_map<A>,
                "penstock: an architecture must have a `name` and `static constexpr auto map = rules(...)`");
  // guard-end: weight_map
  // guard-begin: quant_scheme
  static_assert(
      (quant_scheme<Schemes> && ...),
      "penstock: a quant scheme must have a `name` and `static constexpr auto linear = linear_is(payload(...), ...)`");
  // guard-end: quant_scheme
  using verdict = decltype(detail::verified_map<A, quant::none, Schemes...>());

  static constexpr map_view view() noexcept {
    map_view v;
    v.name_ = A::name;
    v.schemes_ = detail::scheme_list<quant::none, Schemes...>;
    if constexpr (A::map.list.size() == 0) {
      v.identity_ = true;
    } else {
      using map = arch::compiled_map<A, quant::none, Schemes...>;
      v.rules_ = map::rules;
      v.lines_ = map::table.lines;
      v.buckets_ = map::table.buckets;
      v.suffixes_ = {map::suffixes.text.data(), map::suffixes.count};
    }
    return v;
  }
};
template <class A, class... Schemes>
struct weight_map_of<A, quant::any_of<Schemes...>> : weight_map_of<A, Schemes...> {};
template <class A>
struct weight_map_of<A, quant::none> : weight_map_of<A> {};
PENSTOCK_END
