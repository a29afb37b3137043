#pragma once
#include <penstock/arch/blocks.hpp>

PENSTOCK_BEGIN
namespace arch {
/// Mixtral (MixtralForCausalLM): w1 is the gate, w3 goes up, w2 down. With experts in one tensor the names are those that
/// transformers 5 has in memory; the parameters are called the same.
///
/// @source transformers, the names and shapes of MixtralForCausalLM
struct mixtral {
  static constexpr std::string_view name = "mixtral";
  static constexpr std::string_view classes[] = {"MixtralForCausalLM"};
  static constexpr dim count{"num_local_experts"};
  static constexpr auto moe = either(
      rules(tensor("block_sparse_moe.gate.weight", count, hidden),
            gated_experts("block_sparse_moe.experts.*", "block_sparse_moe.experts.w13", "block_sparse_moe.experts.w2",
                          count, intermediate, "w1", "w3", "w2")),
      rules(
          tensor("mlp.gate.weight", count, hidden).as("block_sparse_moe.gate.weight"),
          experts_in_one(
              count,
              tensor("mlp.experts.gate_up_proj", 2 * intermediate, hidden)
                  .holds(2)
                  .by_out()
                  .as("block_sparse_moe.experts.w13_weight"),
              tensor("mlp.experts.down_proj", hidden, intermediate).by_in().as("block_sparse_moe.experts.w2_weight"))));
  static constexpr auto map =
      rules(embeddings_and_head, each("model.layers.*", 0, layers, two_norms, rotary_buffers, gqa(0, 0), moe));
};
}  // namespace arch
PENSTOCK_END
