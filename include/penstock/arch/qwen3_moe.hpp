#pragma once
#include <penstock/arch/blocks.hpp>

PENSTOCK_BEGIN
namespace arch {
/// Qwen 3 with experts in every layer (Qwen3MoeForCausalLM).
///
/// @source transformers, the names and shapes of Qwen3MoeForCausalLM
struct qwen3_moe {
  static constexpr std::string_view name = "qwen3_moe";
  static constexpr std::string_view classes[] = {"Qwen3MoeForCausalLM"};
  static constexpr auto map =
      rules(embeddings_and_head, each("model.layers.*", 0, layers, two_norms, head_norms, rotary_buffers,
                                      gqa(attention_bias, attention_bias), tensor("mlp.gate.weight", n_experts, hidden),
                                      gated_experts(n_experts, expert_width)));
};
}  // namespace arch
PENSTOCK_END
