#pragma once
#include <penstock/arch/dims.hpp>
#include <penstock/arch/rules.hpp>

PENSTOCK_BEGIN
/// Building blocks that many maps share.
namespace arch {
/// Embedding, final norm and head. A tied head is the embedding, and on the last of several pipeline stages a parameter of
/// its own, of the embedding's tensor; a stored copy of it is not read.
inline constexpr auto embeddings_and_head =
    rules(tensor("model.embed_tokens.weight", vocab, hidden).by_vocab().on(stage::first),
          tensor("model.norm.weight", hidden).on(stage::last),
          tensor("lm_head.weight", vocab, hidden).by_vocab().on(stage::last).unless(tied),
          tie("lm_head.weight", "model.embed_tokens.weight").when(tied));

inline constexpr auto two_norms =
    rules(tensor("input_layernorm.weight", hidden), tensor("post_attention_layernorm.weight", hidden));

/// Norms of each head's queries and keys, the same for all heads.
inline constexpr auto head_norms =
    rules(tensor("self_attn.q_norm.weight", head_dim), tensor("self_attn.k_norm.weight", head_dim));

/// Grouped-query attention: q, k and v as row blocks of one parameter, whole heads on each rank.
constexpr auto gqa(dim qkv_bias, dim o_bias) {
  return shared_by(
      rank_group::attention,
      fuse("self_attn.qkv_proj", linear("self_attn.q_proj", heads * head_dim, hidden).by_heads(heads).bias(qkv_bias),
           linear("self_attn.k_proj", kv_heads * head_dim, hidden).by_kv_heads(kv_heads).bias(qkv_bias),
           linear("self_attn.v_proj", kv_heads * head_dim, hidden).by_kv_heads(kv_heads).bias(qkv_bias)),
      linear("self_attn.o_proj", hidden, heads * head_dim).by_in().bias(o_bias));
}
/// SwiGLU: gate and up as row blocks of one parameter.
constexpr auto gated_mlp(dim width, dim bias) {
  return rules(fuse("mlp.gate_up_proj", linear("mlp.gate_proj", width, hidden).by_out().bias(bias),
                    linear("mlp.up_proj", width, hidden).by_out().bias(bias)),
               linear("mlp.down_proj", hidden, width).by_in().bias(bias));
}
/// SwiGLU experts, stacked: w13 [experts, 2 width, hidden], its rows gate above up, and w2 [experts, hidden, width].
constexpr auto gated_experts(std::string_view scope, std::string_view w13, std::string_view w2, dim count, dim width,
                             std::string_view gate, std::string_view up, std::string_view down) {
  return experts(scope, count, fuse(w13, linear(gate, width, hidden).by_out(), linear(up, width, hidden).by_out()),
                 linear(down, hidden, width).by_in().as(w2));
}
/// SwiGLU experts under the usual names, each by itself or all in one tensor (as transformers 5 holds them).
constexpr auto gated_experts(dim count, dim width) {
  return either(
      gated_experts("mlp.experts.*", "mlp.experts.w13", "mlp.experts.w2", count, width, "gate_proj", "up_proj",
                    "down_proj"),
      experts_in_one(
          count, tensor("mlp.experts.gate_up_proj", 2 * width, hidden).holds(2).by_out().as("mlp.experts.w13_weight"),
          tensor("mlp.experts.down_proj", hidden, width).by_in().as("mlp.experts.w2_weight")));
}
/// An expert that all tokens meet: an MLP of its own, divided as the dense ones.
constexpr auto shared_experts(dim flag, dim width) {
  return rules(
      fuse("mlp.shared_experts.gate_up_proj", linear("mlp.shared_experts.gate_proj", width, hidden).by_out().when(flag),
           linear("mlp.shared_experts.up_proj", width, hidden).by_out().when(flag)),
      linear("mlp.shared_experts.down_proj", hidden, width).by_in().when(flag));
}
/// What a layer that drafts the next token but one (MTP) has beside what other layers have.
inline constexpr auto draft_tensors =
    rules(tensor("embed_tokens.weight", vocab, hidden).by_vocab(), tensor("enorm.weight", hidden),
          tensor("hnorm.weight", hidden), tensor("eh_proj.weight", hidden, 2 * hidden),
          tensor("shared_head.norm.weight", hidden), tensor("shared_head.head.weight", vocab, hidden).by_vocab());
/// Buffers that old exports store and no engine needs.
inline constexpr auto rotary_buffers =
    rules(skip("self_attn.rotary_emb.inv_freq"), skip("self_attn.rotary_emb.cos_cached"),
          skip("self_attn.rotary_emb.sin_cached"));
}  // namespace arch
PENSTOCK_END
