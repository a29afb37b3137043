#pragma once
#include <penstock/arch/blocks.hpp>

PENSTOCK_BEGIN
namespace arch {
/// GLM-4.5 and 4.6 (Glm4MoeForCausalLM): biases of q, k and v, dense layers, then mixtures of experts with one that all
/// tokens meet. The layers of the draft model (MTP) behind the last one are known and not taken.
///
/// @source transformers, the names and shapes of Glm4MoeForCausalLM
struct glm4_moe {
  static constexpr std::string_view name = "glm4_moe";
  static constexpr std::string_view classes[] = {"Glm4MoeForCausalLM"};
  static constexpr dim head_norms_if{"use_qk_norm"};
  static constexpr auto attention =
      rules(two_norms, rotary_buffers, tensor("self_attn.q_norm.weight", head_dim).when(head_norms_if),
            tensor("self_attn.k_norm.weight", head_dim).when(head_norms_if), gqa(attention_bias, 0));
  static constexpr auto moe = rules(tensor("mlp.gate.weight", n_routed, hidden),
                                    tensor("mlp.gate.e_score_correction_bias", n_routed).stored_as(dtype::f32),
                                    gated_experts(n_routed, expert_width), shared_experts(n_shared, shared_width));
  static constexpr auto map = rules(embeddings_and_head, each("model.layers.*", 0, layers, attention),
                                    each("model.layers.*", 0, dense_layers, gated_mlp(intermediate, 0)),
                                    each("model.layers.*", dense_layers, layers, moe),
                                    skipped(each("model.layers.*", layers, with_draft, attention, moe, draft_tensors)));
};
}  // namespace arch
PENSTOCK_END
