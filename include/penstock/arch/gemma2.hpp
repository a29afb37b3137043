#pragma once
#include <penstock/arch/blocks.hpp>

PENSTOCK_BEGIN
namespace arch {
/// Gemma 2 (Gemma2ForCausalLM): a norm before and behind attention and MLP. Norms are stored as w where the model
/// multiplies by 1 + w; the head is tied unless the config says otherwise.
///
/// @source transformers, the names and shapes of Gemma2ForCausalLM
struct gemma2 {
  static constexpr std::string_view name = "gemma2";
  static constexpr std::string_view classes[] = {"Gemma2ForCausalLM"};
  static constexpr auto layer = rules(two_norms, tensor("pre_feedforward_layernorm.weight", hidden),
                                      tensor("post_feedforward_layernorm.weight", hidden), rotary_buffers,
                                      gqa(attention_bias, attention_bias), gated_mlp(intermediate, 0));
  static constexpr auto map = rules(embeddings_and_head, each("model.layers.*", 0, layers, layer));
};
}  // namespace arch
PENSTOCK_END
