#pragma once
#include <penstock/arch/blocks.hpp>

PENSTOCK_BEGIN
namespace arch {
/// Mistral 7B and what is shaped like it (MistralForCausalLM): Llama without biases. The names are those of transformers,
/// not of the `consolidated` files.
///
/// @source transformers, the names and shapes of MistralForCausalLM
struct mistral {
  static constexpr std::string_view name = "mistral";
  static constexpr std::string_view classes[] = {"MistralForCausalLM"};
  static constexpr auto map = rules(embeddings_and_head, each("model.layers.*", 0, layers, two_norms, rotary_buffers,
                                                              gqa(0, 0), gated_mlp(intermediate, 0)));
};
}  // namespace arch
PENSTOCK_END
