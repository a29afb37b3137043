#pragma once
#include <penstock/core/numbers.hpp>
#include <penstock/format/quant_declaration.hpp>
#include <penstock/quant/scheme.hpp>

PENSTOCK_BEGIN
namespace quant {
namespace detail {
/// Is it compressed-tensors' format of packed words, with one scale for each group (or for each row)?
inline bool declares_packed_words(quant_declaration const& d, bool groups) {
  return d.method == "compressed-tensors" && d.format == "pack-quantized" && d.group_size.has_value() == groups;
}
/// What of such a declaration changes the tensors or their numbers in a way that is not read here.
inline std::string unread_of_packed_words(quant_declaration const& d, std::string_view strategy) {
  auto const but = [](std::string_view wanted, std::string const& found) {
    return "expected " + std::string{wanted} + ", found " + found;
  };
  if (d.groups != 1) return but("one group in config_groups", std::to_string(d.groups));
  if (d.bits != 4u && d.bits != 8u) return but("4 or 8 bits", d.bits ? std::to_string(*d.bits) : "none");
  struct {
    std::string_view key, value;
  } const only[] = {{"targets", "[\"Linear\"]"},    {"weights.type", "\"int\""},  {"weights.symmetric", "true"},
                    {"weights.strategy", strategy}, {"weights.dynamic", "false"}, {"input_activations", "null"},
                    {"output_activations", "null"}};
  for (auto const& [key, value] : only)
    if (auto const* found = d.of_group(key); found && *found != value && *found != "null")
      return but(std::string{key} + " = " + std::string{value}, *found);
  auto const* order = d.of_group("weights.actorder");  // static: the rows were reordered when they were packed
  if (order && *order != "null" && *order != "false" && *order != "\"static\"" && *order != "\"weight\"")
    return but("weights.actorder = null, \"static\" or \"weight\"", *order);
  return {};
}
/// Rows of unsigned numbers in words of 32 bits, the first in the lowest bits, half of their range below zero.
inline void dequantise_packed_words(stored_rows const& r, float* to) noexcept {
  u64 const bits = 32 / r.packed, words = (r.k + r.packed - 1) / r.packed, groups = (r.k + r.unit[1] - 1) / r.unit[1];
  u64 const size = bits_of(r.side_type) / 8;
  auto const zero = static_cast<float>(u32{1} << (bits - 1));
  for (u64 row = 0; row < r.count; ++row)
    for (u64 column = 0; column < r.k; ++column) {
      u32 word = 0;
      std::memcpy(&word, r.payload + 4 * (row * words + column / r.packed), 4);
      float scale = 0;
      floats_of(r.side_type, r.sides[0] + size * ((r.first + row) * groups + column / r.unit[1]), 1, &scale);
      to[row * r.k + column] =
          (static_cast<float>(word >> column % r.packed * bits & ((u64{1} << bits) - 1)) - zero) * scale;
    }
}
}  // namespace detail

/// Integers of 4 or 8 bits with one scale for each group of columns, symmetric, packed as compressed-tensors does:
/// `weight_packed` I32 [N, ceil(K / 8)] (of 8 bits: / 4), `weight_scale` [N, K / group], and `weight_shape`, which is no
/// parameter. A number is (u - 8) * scale, or (u - 128) * scale.
///
/// Declared by `format: pack-quantized` with a `group_size`. Activations, zero points and an order of columns by
/// activations are refused. @source compressed-tensors, its pack_quantized compressor; Kimi-K2.5, its config.json
struct wna16 {
  static constexpr std::string_view name = "wna16";
  static constexpr dim in_word{"values_in_word"}, group{"group_size"};
  static constexpr auto linear =
      linear_is(payload(".weight_packed", dtype::int32, out, up(in, in_word)),
                scale(".weight_scale", dtype::any_float, out, in / group), note(".weight_shape", dtype::int32, 2));

  static bool declared(quant_declaration const& d) { return detail::declares_packed_words(d, true); }
  static std::string unreadable(quant_declaration const& d) { return detail::unread_of_packed_words(d, "\"group\""); }
  static void dequantise(stored_rows const& r, float* to) noexcept { detail::dequantise_packed_words(r, to); }
};
/// The same with one scale for each row: `weight_scale` [N, 1], whole where ranks divide the columns.
struct wna16_channel {
  static constexpr std::string_view name = "wna16_channel";
  static constexpr auto linear =
      linear_is(payload(".weight_packed", dtype::int32, out, up(in, wna16::in_word)),
                scale(".weight_scale", dtype::any_float, out, unit), note(".weight_shape", dtype::int32, 2));

  static bool declared(quant_declaration const& d) { return detail::declares_packed_words(d, false); }
  static std::string unreadable(quant_declaration const& d) { return detail::unread_of_packed_words(d, "\"channel\""); }
  static void dequantise(stored_rows const& r, float* to) noexcept { detail::dequantise_packed_words(r, to); }
};
static_assert(quant_scheme<wna16> && dequantises<wna16> && quant_scheme<wna16_channel> && dequantises<wna16_channel>);
}  // namespace quant
PENSTOCK_END
