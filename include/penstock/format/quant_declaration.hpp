#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <penstock/core/bytes.hpp>

PENSTOCK_BEGIN
/// How a checkpoint says that it is quantised. To be compared with the tensors, never believed alone.
struct quant_declaration {
  /// `fp8`, `compressed-tensors`, `gptq`, ...: `quant_method`, or what ModelOpt's `quant_algo` stands for.
  std::string method;
  /// `format`, `fmt` or `quant_algo`, whichever comes first: `pack-quantized`, `e4m3`, `NVFP4`.
  std::string format;
  /// Where it stood, as a dotted path: `quantization_config`, `text_config.quantization_config`, ...
  std::string where;
  /// The sub-model that it is about (`text_config`); empty: the whole model. Other sub-models are not quantised.
  std::string scope;
  /// `activation_scheme`: how an engine gets the scales of activations; empty: not said.
  std::string activation;
  /// Modules that are left alone, as written: names, parts of names, or `re:` and a regular expression.
  std::vector<std::string> ignored;
  std::optional<u64> bits;             ///< of one weight
  std::optional<u64> group_size;       ///< elements under one scale; none: not by groups
  std::vector<u64> weight_block_size;  ///< rows and columns under one scale; empty: not by blocks
  std::vector<std::string> unread{};   ///< keys of the block that nothing here reads
  /// Of `config_groups`: how many there are, and what the first says, each dotted key (`weights.symmetric`) with its JSON.
  u64 groups = 0;
  std::vector<std::pair<std::string, std::string>> group{};

  /// What the first group says under a dotted key, as JSON. @returns null where it says nothing
  [[nodiscard]] std::string const* of_group(std::string_view key) const& noexcept {
    for (auto const& [name, value] : group)
      if (name == key) return &value;
    return nullptr;
  }
  void of_group(std::string_view) const&& = delete;
  /// A number that a scheme's parts are measured in: `bits`, `values_in_word` (of 32 bits), `group_size`,
  /// `weight_block_size.0` (rows), `.1` (columns).
  [[nodiscard]] std::optional<u64> number(std::string_view key) const noexcept {
    if (key == "bits") return bits;
    if (key == "values_in_word" && bits && *bits && 32 % *bits == 0) return 32 / *bits;
    if (key == "group_size") return group_size;
    if (weight_block_size.size() == 2 && key == "weight_block_size.0") return weight_block_size[0];
    if (weight_block_size.size() == 2 && key == "weight_block_size.1") return weight_block_size[1];
    return std::nullopt;
  }

  bool operator==(quant_declaration const&) const = default;
};
PENSTOCK_END
