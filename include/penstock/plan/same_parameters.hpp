#pragma once
#include <algorithm>
#include <string>

#include <penstock/core/result.hpp>
#include <penstock/plan/plan.hpp>

PENSTOCK_BEGIN
namespace detail {
inline std::string described(parameter const& p) {
  return "\"" + p.name + "\" " + std::string{name_of(p.type)} + " " + to_string(p.shape);
}
}  // namespace detail

/// Do two plans write the same parameters, by name, dtype and shape, in the same order? Then the addresses of one serve the
/// other, wherever the checkpoints have the tensors.
///
/// @errors plan: names the first that differs
/// @threads any; the plans are only read
inline result<void> same_parameters(plan const& before, plan const& now) {
  auto const at = [](plan const& p, std::size_t i) {
    return i < p.parameters.size() ? "parameter " + detail::described(p.parameters[i]) : std::string{"no more"};
  };
  for (std::size_t i = 0; i < std::max(before.parameters.size(), now.parameters.size()); ++i) {
    bool const both = i < before.parameters.size() && i < now.parameters.size();
    auto const same = [](parameter const& a, parameter const& b) {
      return a.name == b.name && a.type == b.type && a.shape == b.shape && a.derived == b.derived;
    };
    if (both && same(before.parameters[i], now.parameters[i])) continue;
    return error{error_kind::plan,
                 "expected the parameters of " + before.uri + " as they were planned before, " + at(before, i) +
                     ", found " + at(now, i) + " in " + now.uri + "; allocate anew and load it as another model",
                 {.uri = now.uri}};
  }
  return {};
}
PENSTOCK_END
