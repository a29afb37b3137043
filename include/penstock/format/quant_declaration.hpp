#pragma once
#include <optional>
#include <string>
#include <string_view>
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

  /// A number that a scheme's parts are measured in: `bits`, `group_size`, `weight_block_size.0` (rows), `.1` (columns).
  [[nodiscard]] std::optional<u64> number(std::string_view key) const noexcept {
    if (key == "bits") return bits;
    if (key == "group_size") return group_size;
    if (weight_block_size.size() == 2 && key == "weight_block_size.0") return weight_block_size[0];
    if (weight_block_size.size() == 2 && key == "weight_block_size.1") return weight_block_size[1];
    return std::nullopt;
  }

  bool operator==(quant_declaration const&) const = default;
};
PENSTOCK_END
