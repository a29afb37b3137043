#pragma once
#include <penstock/quant/dim.hpp>

PENSTOCK_BEGIN
/// The sizes that maps speak of, by their keys in config.json.
namespace arch {
inline constexpr dim hidden{"hidden_size"}, layers{"num_hidden_layers"}, vocab{"vocab_size"},
    intermediate{"intermediate_size"};
inline constexpr dim heads{"num_attention_heads"}, kv_heads{"num_key_value_heads"}, head_dim{"head_dim"};
inline constexpr dim n_experts{"num_experts"}, n_routed{"n_routed_experts"}, expert_width{"moe_intermediate_size"};
inline constexpr dim n_shared{"n_shared_experts"}, shared_width{"shared_intermediate_size"};
inline constexpr dim dense_layers{"first_k_dense_replace"}, with_draft{"layers_with_mtp"};
inline constexpr dim tied{"tie_word_embeddings"}, attention_bias{"attention_bias"}, mlp_bias{"mlp_bias"};
}  // namespace arch
PENSTOCK_END
