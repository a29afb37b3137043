#pragma once
#include <penstock/arch/blocks.hpp>

PENSTOCK_BEGIN
namespace arch {
/// Llama 2 and 3 and what is shaped like them (LlamaForCausalLM).
///
/// @source transformers, the names and shapes of LlamaForCausalLM
struct llama {
  static constexpr std::string_view name = "llama";
  static constexpr std::string_view classes[] = {"LlamaForCausalLM"};  ///< `architectures` in config.json
  static constexpr auto map =
      rules(embeddings_and_head, each("model.layers.*", 0, layers, two_norms, rotary_buffers,
                                      gqa(attention_bias, attention_bias), gated_mlp(intermediate, mlp_bias)));
};
}  // namespace arch
PENSTOCK_END
