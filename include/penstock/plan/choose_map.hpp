#pragma once
#include <algorithm>
#include <set>
#include <span>
#include <string>

#include <penstock/arch/any_of.hpp>
#include <penstock/arch/weight_map.hpp>
#include <penstock/core/result.hpp>
#include <penstock/format/config.hpp>

PENSTOCK_BEGIN
/// A map and the model classes (`architectures` in config.json) that it is for.
struct map_choice {
  map_view map;
  std::span<std::string_view const> classes{};
};

namespace detail {
template <class Arch>
constexpr std::span<std::string_view const> classes_of() {
  if constexpr (requires { std::span<std::string_view const>{Arch::classes}; }) return Arch::classes;
  else return {};
}
template <class Arch, class Quant>
struct map_choices {
  static constexpr map_choice list[] = {{weight_map_of<Arch, Quant>::view(), classes_of<Arch>()}};
};
template <class... Archs, class Quant>
struct map_choices<arch::any_of<Archs...>, Quant> {
  // guard-begin: any_of_some_architectures
  static_assert(sizeof...(Archs) > 0, "penstock: arch::any_of<> names no architecture: give it at least one");
  // guard-end: any_of_some_architectures
  static constexpr map_choice list[] = {{weight_map_of<Archs, Quant>::view(), classes_of<Archs>()}...};
};

inline std::string names_of(std::span<map_choice const> from) {
  std::string s;
  std::string_view before;  // maps of one name stand together
  for (auto const& c : from)
    if (c.map.arch_name() != before) s += (s.empty() ? "" : ", ") + std::string{before = c.map.arch_name()};
  return s;
}
}  // namespace detail

/// The maps that an `arch` policy offers, each under the schemes of a `quant` policy.
template <class Arch, class Quant>
constexpr std::span<map_choice const> maps_of() noexcept {
  return detail::map_choices<Arch, Quant>::list;
}

/// The map with the name `wanted`; where that is empty, the one for config.json's architecture. Of several with one name
/// the one for config.json's architecture, else the first.
///
/// @errors usage: no map of that name; config: no map for the architecture, or config.json names none
inline result<map_view> choose_map(std::span<map_choice const> from, model_config const& config,
                                   std::string_view wanted = {}) {
  auto const found = config.architecture();
  auto const is_for_it = [&](map_choice const& c) {
    return std::find(c.classes.begin(), c.classes.end(), found) != c.classes.end();
  };
  if (!wanted.empty()) {
    for (bool const any : {false, true})
      for (auto const& c : from)
        if (c.map.arch_name() == wanted && (any || is_for_it(c))) return c.map;
    return error{error_kind::usage, "expected one of the architectures " + detail::names_of(from) + ", found \"" +
                                        std::string{wanted} + "\""};
  }
  if (from.size() == 1 && from[0].classes.empty()) return from[0].map;
  for (auto const& c : from)
    if (is_for_it(c)) return c.map;
  if (found.empty())
    return error{error_kind::config, std::string{"expected \"architectures\" in config.json, found "} +
                                         (config.empty() ? "no config.json" : "none") +
                                         "; fetch the file as well, or name one of the architectures " +
                                         detail::names_of(from)};
  std::set<std::string_view> sorted;
  for (auto const& c : from) sorted.insert(c.classes.begin(), c.classes.end());
  std::string classes;
  for (auto const& name : sorted) classes += (classes.empty() ? "" : ", ") + std::string{name};
  return error{error_kind::config, "expected an architecture that is known here (" + classes + "), found \"" +
                                       std::string{found} + "\" in config.json; name one of " + detail::names_of(from) +
                                       " if its tensors are alike, or derive a map"};
}
PENSTOCK_END
