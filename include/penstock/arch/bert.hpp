#pragma once
#include <penstock/arch/blocks.hpp>

PENSTOCK_BEGIN
namespace arch {
/// Bert as an encoder (BertModel, and BertForMaskedLM without its head), with `bert.` before the names or not. Queries,
/// keys and values are one parameter; the layers are divided as in Megatron, the pooler is whole.
///
/// @source transformers, the names and shapes of BertModel
struct bert {
  static constexpr std::string_view name = "bert";
  static constexpr std::string_view classes[] = {"BertModel", "BertForMaskedLM"};
  static constexpr auto attention =
      shared_by(rank_group::attention,
                fuse("attention.self.qkv", linear("attention.self.query", hidden, hidden).by_heads(heads).bias(),
                     linear("attention.self.key", hidden, hidden).by_heads(heads).bias(),
                     linear("attention.self.value", hidden, hidden).by_heads(heads).bias()),
                linear("attention.output.dense", hidden, hidden).by_in().bias());
  static constexpr auto encoder =
      rules(tensor("embeddings.word_embeddings.weight", vocab, hidden).by_vocab().on(stage::first),
            tensor("embeddings.position_embeddings.weight", dim{"max_position_embeddings"}, hidden).on(stage::first),
            tensor("embeddings.token_type_embeddings.weight", dim{"type_vocab_size"}, hidden).on(stage::first),
            plain("embeddings.LayerNorm", hidden).bias().on(stage::first), skip("embeddings.position_ids"),
            each("encoder.layer.*", 0, layers, attention, plain("attention.output.LayerNorm", hidden).bias(),
                 linear("intermediate.dense", intermediate, hidden).by_out().bias(),
                 linear("output.dense", hidden, intermediate).by_in().bias(), plain("output.LayerNorm", hidden).bias()),
            linear("pooler.dense", hidden, hidden).bias().optional().on(stage::last));
  static constexpr auto map =
      rules(either(encoder, stored_under("bert", encoder)), skip("cls.predictions.bias"),
            skip("cls.predictions.transform.dense.weight"), skip("cls.predictions.transform.dense.bias"),
            skip("cls.predictions.transform.LayerNorm.weight"), skip("cls.predictions.transform.LayerNorm.bias"),
            skip("cls.predictions.decoder.weight"), skip("cls.predictions.decoder.bias"));
};
}  // namespace arch
PENSTOCK_END
