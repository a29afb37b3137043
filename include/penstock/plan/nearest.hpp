#pragma once
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <penstock/arch/map_view.hpp>

PENSTOCK_BEGIN
namespace detail {
/// Insertions, deletions and changes that make one text of the other. @source Levenshtein, 1966
inline std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j)
      diagonal = std::exchange(row[j], std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])}));
  }
  return row[b.size()];
}

/// A name with each whole-number segment replaced by `*`; `numbers` takes what stood there.
inline std::string as_pattern(std::string_view name, std::vector<std::string>& numbers) {
  std::string pattern;
  for (std::size_t at = 0; at <= name.size();) {
    auto const dot = std::min(name.find('.', at), name.size());
    auto const segment = name.substr(at, dot - at);
    bool const number = !segment.empty() && std::all_of(segment.begin(), segment.end(), arch::is_digit);
    if (number) numbers.emplace_back(segment);
    pattern += number ? std::string_view{"*"} : segment;
    if (dot < name.size()) pattern += '.';
    at = dot + 1;
  }
  return pattern;
}

/// The name of a map that is closest to an unknown one, its numbers put in; empty for a map without names.
inline std::string nearest_name(map_view const& map, std::string_view unknown) {
  std::vector<std::string> numbers;
  auto const pattern = as_pattern(unknown.substr(0, 512), numbers);
  std::string best;
  std::size_t least = ~std::size_t{};
  for (auto const& line : map.lines()) {
    auto const name = arch::name_of(map.rules()[line.rule], map.suffixes()[line.suffix]);
    if (auto const d = edit_distance(pattern, name.view()); d < least) least = d, best = name.view();
  }
  std::string filled;
  std::size_t n = 0;
  for (char c : best) {
    if (c == '*') filled += n < numbers.size() ? numbers[n++] : "*";
    else filled += c;
  }
  return filled;
}
}  // namespace detail
PENSTOCK_END
