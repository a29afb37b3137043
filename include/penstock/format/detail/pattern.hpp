#pragma once
#include <bitset>
#include <string_view>
#include <vector>

#include <penstock/core/result.hpp>
#include <penstock/core/separate.hpp>

PENSTOCK_BEGIN
namespace detail {
/// A regular expression of an ignore list, matched from the start of a name. Its time is linear in the name: the states
/// that can be reached are followed side by side, never one after the other.
///
/// Letters, `.`, `[a-z]`, `[^a-z]`, `\d \w \s` and their opposites, `( )`, `(?: )`, `|`, `* + ?` (also lazy), `^` and `$`.
class pattern {
 public:
  static constexpr std::size_t most = 1000;  ///< characters

  /// @errors config: no such expression, or one that uses more of the language; the message says where
  static result<pattern> parse(std::string_view text);

  /// Does it match some beginning of `name`? As Python's re.match.
  [[nodiscard]] bool matches(std::string_view name) const;

 private:
  friend class pattern_parser;
  using characters = std::bitset<256>;
  struct state {
    enum kind : u8 { one_of, either, at_start, at_end, end } what = end;
    u32 next = 0, other = 0;  ///< numbers of states
    u32 set = 0;              ///< for one_of
  };
  std::vector<state> states_;
  std::vector<characters> sets_;
  u32 first_ = 0;
};
}  // namespace detail
PENSTOCK_END

#ifndef PENSTOCK_SEPARATE_COMPILATION
#  include <penstock/format/detail/pattern.ipp>
#endif
