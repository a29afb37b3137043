#pragma once
#include <span>

#include <penstock/arch/name.hpp>
#include <penstock/arch/rule.hpp>

PENSTOCK_BEGIN
namespace arch {
/// One line of a compiled map: a rule with one of the suffixes that its schemes give it.
struct table_line {
  u64 hash = 0;  ///< of the canonical form of its name
  u16 rule = 0;
  u8 suffix = 0;  ///< into map_view.suffixes
  u8 wild = 0, numbers = 0;
  std::array<u32, canonical_name::most_numbers> value{};
};
}  // namespace arch

/// A checked map under a list of schemes, as a plain value: from here on nothing is a template on either.
///
/// Only `weight_map_of<Arch, Schemes...>::view()` makes one. Refers to static memory; cheap to copy.
class map_view {
 public:
  [[nodiscard]] constexpr std::string_view arch_name() const noexcept { return name_; }
  [[nodiscard]] constexpr bool identity() const noexcept {
    return identity_;
  }  ///< every tensor as it is, whole on every rank
  [[nodiscard]] constexpr std::span<arch::rule const> rules() const noexcept { return rules_; }
  [[nodiscard]] constexpr std::span<arch::table_line const> lines() const noexcept {
    return lines_;
  }  ///< by bucket of their hash
  [[nodiscard]] constexpr std::span<u16 const> buckets() const noexcept {
    return buckets_;
  }  ///< first line of each, and the end
  [[nodiscard]] constexpr std::span<std::string_view const> suffixes() const noexcept { return suffixes_; }
  [[nodiscard]] constexpr std::span<scheme_view const> schemes() const noexcept {
    return schemes_;
  }  ///< [0] is quant::none

 private:  // guard: map_view_comes_from_a_checked_map
  template <class Arch, class... Schemes>
  friend struct weight_map_of;
  constexpr map_view() = default;

  std::string_view name_;
  bool identity_ = false;
  std::span<arch::rule const> rules_;
  std::span<arch::table_line const> lines_;
  std::span<u16 const> buckets_;
  std::span<std::string_view const> suffixes_;
  std::span<scheme_view const> schemes_;
};
PENSTOCK_END
