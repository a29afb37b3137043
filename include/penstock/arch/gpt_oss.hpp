#pragma once
#include <penstock/arch/blocks.hpp>

PENSTOCK_BEGIN
namespace arch {
/// gpt-oss (GptOssForCausalLM): attention with sinks, experts with biases that lie in one tensor, gate and up in turn.
///
/// Declared as MXFP4, experts are [2 width, hidden] and [hidden, width] in blocks of 32, which ranks divide whole; the last
/// ranks are filled with zeros. Else they are stored as they are multiplied, [hidden, 2 width] and [width, hidden], and
/// stay so. The bias of the way down is on the first of the ranks that divide an expert.
///
/// @source gpt-oss, its weight files; transformers, the names and shapes of GptOssForCausalLM; SGLang for the parameters
struct gpt_oss {
  static constexpr std::string_view name = "gpt_oss";
  static constexpr std::string_view classes[] = {"GptOssForCausalLM"};
  static constexpr dim quantised{"is_quantised"}, both = 2 * intermediate;

  static constexpr auto blocks = when(quantised,
                                      linear("mlp.experts.gate_up_proj", both, hidden)
                                          .by_out()
                                          .in_units_of(64)
                                          .padded_with_zeros()
                                          .as("mlp.experts.w13"),
                                      linear("mlp.experts.down_proj", hidden, intermediate)
                                          .by_in()
                                          .in_units_of(32)
                                          .padded_with_zeros()
                                          .as("mlp.experts.w2"),
                                      tensor("mlp.experts.gate_up_proj_bias", both)
                                          .by_out()
                                          .in_units_of(64)
                                          .padded_with_zeros()
                                          .as("mlp.experts.w13_weight_bias"));
  static constexpr auto numbers = unless(
      quantised, tensor("mlp.experts.gate_up_proj", hidden, both).by_in().in_units_of(2).as("mlp.experts.w13_weight"),
      tensor("mlp.experts.down_proj", intermediate, hidden).by_out().as("mlp.experts.w2_weight"),
      tensor("mlp.experts.gate_up_proj_bias", both).by_out().in_units_of(2).as("mlp.experts.w13_weight_bias"));
  static constexpr auto moe = arch::rules(
      plain("mlp.router", n_experts, hidden).bias(),
      experts_in_one(n_experts, blocks, numbers,
                     tensor("mlp.experts.down_proj_bias", hidden).on_first_rank().as("mlp.experts.w2_weight_bias")));
  static constexpr auto map = arch::rules(
      embeddings_and_head,
      each("model.layers.*", 0, layers, two_norms, rotary_buffers, not_quantised(gqa(attention_bias, attention_bias)),
           shared_by(rank_group::attention, tensor("self_attn.sinks", heads).by_heads(heads)), moe));
};
}  // namespace arch
PENSTOCK_END
