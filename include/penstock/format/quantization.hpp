#pragma once
#include <optional>
#include <string>
#include <string_view>

#include <penstock/core/result.hpp>
#include <penstock/core/separate.hpp>
#include <penstock/format/detail/json_tree.hpp>
#include <penstock/format/quant_declaration.hpp>

PENSTOCK_BEGIN
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
