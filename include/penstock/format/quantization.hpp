#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <penstock/core/result.hpp>
#include <penstock/core/separate.hpp>
#include <penstock/format/detail/json_tree.hpp>

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
  /// Modules that are left alone, as written: names, parts of names, or `re:` and a regular expression.
  std::vector<std::string> ignored;
  std::optional<u64> bits;             ///< of one weight
  std::optional<u64> group_size;       ///< elements under one scale; none: not by groups
  std::vector<u64> weight_block_size;  ///< rows and columns under one scale; empty: not by blocks

  bool operator==(quant_declaration const&) const = default;
};

/// For people: `fp8 (e4m3, blocks of 128 x 128), declared in quantization_config`.
[[nodiscard]] std::string to_string(quant_declaration const& declared);

namespace detail {
/// The declaration in a config, if it has one.
///
/// Looked for in `quantization_config`, `compression_config` and `quantization`, first at the top, then in the nested
/// text config `text_key` (empty: there is none). Several may stand there if they say the same; the first counts, also
/// with its list of ignored modules: those of a nested block are named from another root.
///
/// @errors config: two that differ, no method (as in MLX exports), wrong types
/// @source transformers' `quantization_config`; ModelOpt's `hf_quant_config.json`
[[nodiscard]] result<std::optional<quant_declaration>> find_quantization(json_tree const& config,
                                                                         std::string_view text_key,
                                                                         std::string_view file);
}  // namespace detail
PENSTOCK_END

#ifndef PENSTOCK_SEPARATE_COMPILATION
#  include <penstock/format/quantization.ipp>
#endif
