#pragma once
#include <penstock/arch/deepseek.hpp>
#include <penstock/quant/fp8_block.hpp>

#include <penstock/plan/inventory.hpp>

#include "made_of.hpp"

namespace test {
inline constexpr auto deepseek_map = weight_map_of<arch::deepseek_v3, quant::any_of<quant::fp8_block>>::view();
inline constexpr auto draft_map = weight_map_of<arch::deepseek_v3_mtp, quant::any_of<quant::fp8_block>>::view();

inline model_config parsed(std::string const& json) {
  return model_config::parse(std::as_bytes(std::span{json})).value();
}

/// config.json of the public checkpoint. @source deepseek-ai/DeepSeek-V3
inline std::string deepseek_v3_config(std::string const& more = "") {
  return R"({"architectures":["DeepseekV3ForCausalLM"],"hidden_size":7168,"num_hidden_layers":61,
    "num_nextn_predict_layers":1,"num_attention_heads":128,"num_key_value_heads":128,"q_lora_rank":1536,
    "kv_lora_rank":512,"qk_nope_head_dim":128,"qk_rope_head_dim":64,"v_head_dim":128,"intermediate_size":18432,
    "moe_intermediate_size":2048,"n_routed_experts":256,"n_shared_experts":1,"first_k_dense_replace":3,
    "vocab_size":129280,"topk_method":"noaux_tc","tie_word_embeddings":false,
    "quantization_config":{"quant_method":"fp8","fmt":"e4m3","weight_block_size":[128,128])" +
         more + "}}";
}
/// One dense layer, one of experts, one of the draft; blocks of 4 x 4; kv_a has a ragged last block.
inline std::string small_deepseek(std::string const& more = "", std::string const& quant = "") {
  return R"({"architectures":["DeepseekV3ForCausalLM"],"hidden_size":16,"num_hidden_layers":2,
    "num_nextn_predict_layers":1,"num_attention_heads":4,"q_lora_rank":8,"kv_lora_rank":6,"qk_nope_head_dim":4,
    "qk_rope_head_dim":4,"v_head_dim":4,"intermediate_size":16,"moe_intermediate_size":16,"n_routed_experts":4,
    "n_shared_experts":1,"first_k_dense_replace":1,"vocab_size":64)" +
         more + R"(,"quantization_config":{"quant_method":"fp8","weight_block_size":[4,4])" + quant + "}}";
}
/// The tensors that a config asks for.
inline made_checkpoint checkpoint_of(map_view const& map, model_config const& config, std::string_view quant = {}) {
  made_checkpoint c;
  for (auto const& t : inventory_of(map, config, quant).value()) c.add(t.name, t.shape, t.type);
  return c;
}
}  // namespace test
