#pragma once
#include <penstock/arch/blocks.hpp>

PENSTOCK_BEGIN
namespace arch {
/// Qwen 3 with experts (Qwen3MoeForCausalLM); layers that config.json excepts have one MLP.
///
/// @source transformers, the names and shapes of Qwen3MoeForCausalLM
struct qwen3_moe {
  static constexpr std::string_view name = "qwen3_moe";
  static constexpr std::string_view classes[] = {"Qwen3MoeForCausalLM"};
  static constexpr auto moe =
      rules(tensor("mlp.gate.weight", n_experts, hidden), gated_experts(n_experts, expert_width));
  static constexpr auto map =
      rules(embeddings_and_head, each("model.layers.*", 0, layers, two_norms, head_norms, rotary_buffers,
                                      gqa(attention_bias, attention_bias), in_layers(layer_set::with_experts, moe),
                                      in_layers(layer_set::without_experts, gated_mlp(intermediate, 0))));
};
}  // namespace arch
PENSTOCK_END
