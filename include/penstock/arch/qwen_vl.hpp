#pragma once
#include <array>

#include <penstock/arch/qwen2.hpp>
#include <penstock/arch/qwen3.hpp>

PENSTOCK_BEGIN
namespace arch {
/// What the vision-language models of Qwen share. Files of newer versions of transformers call the language model
/// `model.language_model.` and the vision tower `model.visual.`; the parameters are called as before, `model.` and
/// `visual.`. The first pipeline stage has the tower, its merger included; ranks of the group `vision` share its heads.
namespace qwen_vl_parts {
inline constexpr dim width{"vision_config.hidden_size"}, heads{"vision_config.num_heads"}, depth{"vision_config.depth"},
    patch{"vision_config.patch_size"}, frames{"vision_config.temporal_patch_size"},
    channels{"vision_config.in_channels"}, mlp{"vision_config.intermediate_size"}, merged{"vision_config.merged_size"},
    out{"vision_config.out_hidden_size"};

template <class Rules>
constexpr auto in_tower(Rules const& r) {
  auto const tower = on_stage(stage::first, shared_by(rank_group::vision, r));
  return either(tower, stored_under("model", tower));
}
template <class Rules>
constexpr auto language_model(Rules const& r) {
  return either(r, stored_as("model", "model.language_model", r));
}
constexpr auto patches(dim n) { return tensor("visual.patch_embed.proj.weight", n, channels, frames, patch, patch); }
/// Queries, keys and values lie in one tensor.
constexpr auto attention(dim n) {
  return rules(plain("attn.qkv", 3 * n, n).holds(3).by_heads(heads).bias().as("attn.qkv_proj"),
               plain("attn.proj", n, n).by_in().bias());
}
/// Two linears with a bias, shared by the width between them.
constexpr auto pair(std::string_view first, std::string_view second, dim n, dim between, dim in) {
  return rules(plain(first, between, in).by_out().bias(), plain(second, n, between).by_in().bias());
}
}  // namespace qwen_vl_parts

/// Qwen2-VL (Qwen2VLForConditionalGeneration).
///
/// @source transformers, the names and shapes of the three; SGLang for what ranks share
struct qwen2_vl {
  static constexpr std::string_view name = "qwen_vl";
  static constexpr std::string_view classes[] = {"Qwen2VLForConditionalGeneration"};
  static constexpr dim width{"vision_config.embed_dim"}, ratio{"vision_config.mlp_ratio"};
  static constexpr auto vision = rules(
      qwen_vl_parts::patches(width),
      each("visual.blocks.*", 0, qwen_vl_parts::depth, plain("norm1", width).bias(), plain("norm2", width).bias(),
           qwen_vl_parts::attention(width), qwen_vl_parts::pair("mlp.fc1", "mlp.fc2", width, ratio* width, width)),
      plain("visual.merger.ln_q", width).bias(),
      qwen_vl_parts::pair("visual.merger.mlp.0", "visual.merger.mlp.2", qwen_vl_parts::width, qwen_vl_parts::merged,
                          qwen_vl_parts::merged));
  static constexpr auto map = rules(qwen_vl_parts::language_model(qwen2::map), qwen_vl_parts::in_tower(vision));
};

/// Qwen2.5-VL (Qwen2_5_VLForConditionalGeneration): the width of the tower's MLP need not divide by the ranks.
struct qwen2_5_vl {
  static constexpr std::string_view name = "qwen_vl";
  static constexpr std::string_view classes[] = {"Qwen2_5_VLForConditionalGeneration"};
  static constexpr dim width = qwen_vl_parts::width, between = qwen_vl_parts::mlp;
  static constexpr auto mlp =
      rules(fuse("mlp.gate_up_proj", plain("mlp.gate_proj", between, width).by_out().padded_with_zeros().bias(),
                 plain("mlp.up_proj", between, width).by_out().padded_with_zeros().bias()),
            plain("mlp.down_proj", width, between).by_in().padded_with_zeros().bias());
  static constexpr auto vision =
      rules(qwen_vl_parts::patches(width),
            each("visual.blocks.*", 0, qwen_vl_parts::depth, plain("norm1", width), plain("norm2", width),
                 qwen_vl_parts::attention(width), mlp),
            plain("visual.merger.ln_q", width),
            qwen_vl_parts::pair("visual.merger.mlp.0", "visual.merger.mlp.2", qwen_vl_parts::out, qwen_vl_parts::merged,
                                qwen_vl_parts::merged));
  static constexpr auto map = rules(qwen_vl_parts::language_model(qwen2::map), qwen_vl_parts::in_tower(vision));
};

/// Qwen3-VL, dense (Qwen3VLForConditionalGeneration): positions are learnt, and some blocks have mergers of their own.
struct qwen3_vl {
  static constexpr std::string_view name = "qwen_vl";
  static constexpr std::string_view classes[] = {"Qwen3VLForConditionalGeneration"};
  static constexpr dim width = qwen_vl_parts::width, merged = qwen_vl_parts::merged;
  static constexpr auto vision = rules(
      qwen_vl_parts::patches(width), tensor("visual.patch_embed.proj.bias", width),
      tensor("visual.pos_embed.weight", dim{"vision_config.num_position_embeddings"}, width),
      each("visual.blocks.*", 0, qwen_vl_parts::depth, plain("norm1", width).bias(), plain("norm2", width).bias(),
           qwen_vl_parts::attention(width),
           qwen_vl_parts::pair("mlp.linear_fc1", "mlp.linear_fc2", width, qwen_vl_parts::mlp, width)),
      plain("visual.merger.norm", width).bias(),
      qwen_vl_parts::pair("visual.merger.linear_fc1", "visual.merger.linear_fc2", qwen_vl_parts::out, merged, merged),
      each("visual.deepstack_merger_list.*", 0, dim{"vision_config.deepstack_layers"}, plain("norm", merged).bias(),
           qwen_vl_parts::pair("linear_fc1", "linear_fc2", qwen_vl_parts::out, merged, merged)));
  static constexpr auto map = rules(qwen_vl_parts::language_model(qwen3::map), qwen_vl_parts::in_tower(vision));
};
}  // namespace arch
PENSTOCK_END
