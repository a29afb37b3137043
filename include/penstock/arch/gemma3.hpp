#pragma once
#include <penstock/arch/gemma2.hpp>

PENSTOCK_BEGIN
namespace arch {
/// Gemma 3, text (Gemma3ForCausalLM): Gemma 2 with norms of each head's queries and keys. The embedding, of which the tied
/// head is a second name, is whole and unpadded on every rank.
///
/// @source transformers, the names and shapes of Gemma3ForCausalLM; SGLang for the embedding
struct gemma3 {
  static constexpr std::string_view name = "gemma3";
  static constexpr std::string_view classes[] = {"Gemma3ForCausalLM"};
  static constexpr auto map =
      rules(override_rules(gemma2::map, tensor("model.embed_tokens.weight", vocab, hidden).on(stage::first)),
            each("model.layers.*", 0, layers, head_norms));
};
}  // namespace arch
PENSTOCK_END
