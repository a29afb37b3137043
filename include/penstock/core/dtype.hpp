#pragma once
#include <array>
#include <string_view>

#include <penstock/core/bytes.hpp>

PENSTOCK_BEGIN
/// The element types of safetensors 0.8. `any_float` stands in rules and schemes only, for BF16, F16 or F32 as stored.
///
/// @source safetensors format, list of dtypes
enum class dtype : u8 {
  any_float,
  boolean,
  f4,
  f6_e2m3,
  f6_e3m2,
  uint8,
  int8,
  f8_e5m2,
  f8_e4m3,
  f8_e8m0,
  f8_e4m3fnuz,
  f8_e5m2fnuz,
  int16,
  uint16,
  f16,
  bf16,
  int32,
  uint32,
  f32,
  c64,
  f64,
  int64,
  uint64,
};

namespace detail {
struct dtype_row {
  std::string_view name;
  u8 bits;
};
inline constexpr std::array<dtype_row, 23> dtype_rows{{
    {"any_float", 0}, {"BOOL", 8},    {"F4", 4},      {"F6_E2M3", 6}, {"F6_E3M2", 6},     {"U8", 8},
    {"I8", 8},        {"F8_E5M2", 8}, {"F8_E4M3", 8}, {"F8_E8M0", 8}, {"F8_E4M3FNUZ", 8}, {"F8_E5M2FNUZ", 8},
    {"I16", 16},      {"U16", 16},    {"F16", 16},    {"BF16", 16},   {"I32", 32},        {"U32", 32},
    {"F32", 32},      {"C64", 64},    {"F64", 64},    {"I64", 64},    {"U64", 64},
}};
}  // namespace detail

/// The name that safetensors headers use.
constexpr std::string_view name_of(dtype t) noexcept { return detail::dtype_rows[static_cast<unsigned>(t)].name; }
/// Bits of one element; 0 for any_float.
constexpr unsigned bits_of(dtype t) noexcept { return detail::dtype_rows[static_cast<unsigned>(t)].bits; }
constexpr bool is_plain_float(dtype t) noexcept { return t == dtype::bf16 || t == dtype::f16 || t == dtype::f32; }
/// May a tensor stored as `stored` stand where a rule or part says `wanted`?
constexpr bool fits(dtype wanted, dtype stored) noexcept {
  return wanted == stored || (wanted == dtype::any_float && is_plain_float(stored));
}
/// By the name in a header. @returns any_float for a name that is not in the list.
constexpr dtype dtype_named(std::string_view name) noexcept {
  for (unsigned i = 1; i < detail::dtype_rows.size(); ++i)
    if (detail::dtype_rows[i].name == name) return static_cast<dtype>(i);
  return dtype::any_float;
}
PENSTOCK_END
