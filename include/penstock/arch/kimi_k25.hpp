#pragma once
#include <penstock/arch/deepseek.hpp>

PENSTOCK_BEGIN
namespace arch {
/// Kimi-K2.5 (KimiK25ForConditionalGeneration): DeepSeek-V3 under `language_model`, a vision tower and a projector, which
/// no scheme quantises and which stand on the first pipeline stage. Queries, keys and values of the tower lie in one
/// tensor; its attention is divided over the ranks of the vision group, the rest is whole.
///
/// @source Kimi-K2.5, its weight files; SGLang for the parameters
struct kimi_k25 {
  static constexpr std::string_view name = "kimi_k25";
  static constexpr std::string_view classes[] = {"KimiK25ForConditionalGeneration"};

  static constexpr dim width{"vision_config.vt_hidden_size"}, wide{"vision_config.vt_intermediate_size"};
  static constexpr dim vision_heads{"vision_config.vt_num_attention_heads"};
  static constexpr dim blocks{"vision_config.vt_num_hidden_layers"}, patch{"vision_config.patch_size"};
  static constexpr dim rows{"vision_config.init_pos_emb_height"}, columns{"vision_config.init_pos_emb_width"};
  static constexpr dim merged{"vision_merged_size"};

  static constexpr auto vision = on_stage(
      stage::first,
      shared_by(
          rank_group::vision, tensor("vision_tower.patch_embed.proj.weight", width, 3, patch, patch),
          tensor("vision_tower.patch_embed.proj.bias", width),
          tensor("vision_tower.patch_embed.pos_emb.weight", rows, columns, width),
          each("vision_tower.encoder.blocks.*", 0, blocks, plain("norm0", width).bias(), plain("norm1", width).bias(),
               plain("wqkv", 3 * width, width).holds(3).by_heads(vision_heads).bias().as("attn.qkv_proj"),
               plain("wo", width, width).by_in().bias().as("attn.proj"), plain("mlp.fc0", wide, width).bias(),
               plain("mlp.fc1", width, wide).bias()),
          plain("vision_tower.encoder.final_layernorm", width).bias(), plain("mm_projector.pre_norm", width).bias(),
          plain("mm_projector.proj.0", merged, merged).bias().as("mm_projector.linear_1"),
          plain("mm_projector.proj.2", hidden, merged).bias().as("mm_projector.linear_2")));
  static constexpr auto map = arch::rules(under("language_model", deepseek_v3::map), vision);
};
}  // namespace arch
PENSTOCK_END
