#pragma once
#include <penstock/arch/blocks.hpp>

PENSTOCK_BEGIN
namespace arch {
/// Qwen 1.5, 2 and 2.5 (Qwen2ForCausalLM): biases of q, k and v alone; the small ones tie their head.
///
/// @source transformers, the names and shapes of Qwen2ForCausalLM
struct qwen2 {
  static constexpr std::string_view name = "qwen2";
  static constexpr std::string_view classes[] = {"Qwen2ForCausalLM"};
  static constexpr auto map = rules(embeddings_and_head, each("model.layers.*", 0, layers, two_norms, rotary_buffers,
                                                              gqa(1, 0), gated_mlp(intermediate, 0)));
};
}  // namespace arch
PENSTOCK_END
