#pragma once
#include <penstock/arch/blocks.hpp>

PENSTOCK_BEGIN
namespace arch {
/// DeepSeek-V3 and R1, and Kimi-K2: multi-head latent attention, dense layers, then mixtures of experts. The layers of the
/// draft model (MTP) behind the last one are known and not taken: see deepseek_v3_mtp.
///
/// q_a_proj and kv_a_proj_with_mqa are row blocks of one parameter, each written at its rows when it comes: nothing waits.
/// w_kc and w_vc are made of kv_b_proj: [heads, kv_lora, nope] and [heads, v, kv_lora] in the model's dtype.
///
/// @source transformers, the names and shapes of DeepseekV3ForCausalLM; vLLM and SGLang for the parameters
struct deepseek_v3 {
  static constexpr std::string_view name = "deepseek_v3";
  static constexpr std::string_view classes[] = {"DeepseekV3ForCausalLM", "KimiK2ForCausalLM"};

  static constexpr dim q_lora{"q_lora_rank"}, kv_lora{"kv_lora_rank"};
  static constexpr dim nope{"qk_nope_head_dim"}, rope{"qk_rope_head_dim"}, v{"v_head_dim"};
  static constexpr dim router_bias{"router_has_bias"};

  static constexpr auto attention =
      shared_by(rank_group::attention,
                fuse("self_attn.fused_qkv_a_proj_with_mqa",
                     linear("self_attn.q_a_proj", q_lora, hidden).when(q_lora).bias(attention_bias),
                     linear("self_attn.kv_a_proj_with_mqa", kv_lora + rope, hidden).when(q_lora).bias(attention_bias)),
                linear("self_attn.kv_a_proj_with_mqa", kv_lora + rope, hidden).unless(q_lora).bias(attention_bias),
                tensor("self_attn.q_a_layernorm.weight", q_lora).when(q_lora),
                linear("self_attn.q_b_proj", heads* nope + heads * rope, q_lora).by_heads(heads).when(q_lora),
                linear("self_attn.q_proj", heads* nope + heads * rope, hidden).by_heads(heads).unless(q_lora),
                tensor("self_attn.kv_a_layernorm.weight", kv_lora),
                linear("self_attn.kv_b_proj", heads* nope + heads * v, kv_lora).by_heads(heads),
                derived("self_attn.w_kc", "self_attn.kv_b_proj", rows_of_head(nope + v, 0, nope).transposed()),
                derived("self_attn.w_vc", "self_attn.kv_b_proj", rows_of_head(nope + v, nope, v)),
                linear("self_attn.o_proj", hidden, heads* v).by_in().bias(attention_bias));
  static constexpr auto moe =
      rules(tensor("mlp.gate.weight", n_routed, hidden),
            tensor("mlp.gate.e_score_correction_bias", n_routed).stored_as(dtype::f32).when(router_bias),
            tensor("mlp.gate.e_score_correction_bias", n_routed).stored_as(dtype::f32).unless(router_bias).optional(),
            gated_experts(n_routed, expert_width), shared_experts(n_shared, shared_width));
  static constexpr auto map = rules(
      embeddings_and_head, each("model.layers.*", 0, layers, two_norms, rotary_buffers, attention),
      each("model.layers.*", 0, dense_layers, gated_mlp(intermediate, 0)),
      each("model.layers.*", dense_layers, layers, moe),
      skipped(each("model.layers.*", layers, with_draft, two_norms, rotary_buffers, attention, moe, draft_tensors)));
};

/// DeepSeek-V2: the same table.
struct deepseek_v2 : deepseek_v3 {
  static constexpr std::string_view name = "deepseek_v2";
  static constexpr std::string_view classes[] = {"DeepseekV2ForCausalLM"};
};

/// The draft model (multi-token prediction) in a DeepSeek-V3 checkpoint. Embedding and head are the main model's.
struct deepseek_v3_mtp : deepseek_v3 {
  static constexpr std::string_view name = "deepseek_v3_mtp";
  static constexpr std::array<std::string_view, 0> classes{};  // chosen by its name alone
  static constexpr auto map =
      rules(into("model.decoder", each("model.layers.*", layers, with_draft, two_norms, attention, moe)),
            into("model", each("model.layers.*", layers, with_draft, tensor("enorm.weight", hidden),
                               tensor("hnorm.weight", hidden), tensor("eh_proj.weight", hidden, 2 * hidden),
                               tensor("shared_head.norm.weight", hidden), skip("embed_tokens.weight"),
                               skip("shared_head.head.weight"), rotary_buffers)),
            skipped(embeddings_and_head, each("model.layers.*", 0, layers, two_norms, rotary_buffers, attention),
                    each("model.layers.*", 0, dense_layers, gated_mlp(intermediate, 0)),
                    each("model.layers.*", dense_layers, layers, moe)));
};
}  // namespace arch
PENSTOCK_END
