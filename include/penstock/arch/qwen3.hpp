#pragma once
#include <penstock/arch/blocks.hpp>

PENSTOCK_BEGIN
namespace arch {
/// Qwen 3, dense (Qwen3ForCausalLM): norms of each head's queries and keys; a head's size is its own number.
///
/// @source transformers, the names and shapes of Qwen3ForCausalLM
struct qwen3 {
  static constexpr std::string_view name = "qwen3";
  static constexpr std::string_view classes[] = {"Qwen3ForCausalLM"};
  static constexpr auto map =
      rules(embeddings_and_head, each("model.layers.*", 0, layers, two_norms, head_norms, rotary_buffers,
                                      gqa(attention_bias, attention_bias), gated_mlp(intermediate, 0)));
};
}  // namespace arch
PENSTOCK_END
