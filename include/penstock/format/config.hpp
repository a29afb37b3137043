#pragma once
#include <cstddef>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <penstock/core/result.hpp>
#include <penstock/core/separate.hpp>
#include <penstock/format/detail/json_tree.hpp>
#include <penstock/format/quantization.hpp>

PENSTOCK_BEGIN
/// What `config.json` says: sizes, names, flags. Default-constructed: there is none.
///
/// Keys may be dotted (`vision_config.patch_size`). A key that the top lacks is looked for in the nested text config
/// (`text_config`, `language_config` or `llm_config`, the first that is there); the top wins. null counts as absent.
///
/// Other spellings, of transformers 5: `dtype` answers for `torch_dtype`, `num_local_experts` for `num_experts`, and the
/// other way round; `rope_parameters.rope_theta` answers for `rope_theta`.
///
/// What public files leave out (@source the config classes of transformers for Llama, Mistral, Qwen and Gemma):
///   num_key_value_heads   num_attention_heads (no grouped queries)
///   head_dim              hidden_size / num_attention_heads
///   tie_word_embeddings   true where model_type, also the text config's, begins with "gemma"; else false
///   attention_bias, mlp_bias   false (attention_bias of model_type gpt_oss: true)
///   q_lora_rank, n_shared_experts, first_k_dense_replace, num_nextn_predict_layers, use_qk_norm   0
///   vision_config.in_channels  3
/// What no file has, for maps to speak of:
///   layers_with_mtp            num_hidden_layers + num_nextn_predict_layers
///   shared_intermediate_size   moe_intermediate_size * n_shared_experts
///   vision_config.merged_size  a vision tower's width * spatial_merge_size squared
///   vision_config.deepstack_layers   how many deepstack_visual_indexes there are
///   is_quantised               is a quantisation declared?
///   vision_merged_size         vision_config.vt_hidden_size * vision_config.merge_kernel_size
///   router_has_bias            is topk_method noaux_tc? where it is not said: is this a DeepseekV3ForCausalLM?
class model_config {
 public:
  /// The most that is read of a config.json.
  static constexpr bytes most = mebibytes(16);

  model_config() = default;
  /// @param json  the whole file
  /// @param file  its name, for messages
  /// @errors      config: no JSON object, above `most`, a key twice, a size that is no number or out of range,
  ///              head_dim left out where it cannot be computed, quantisation as in find_quantization; memory
  static result<model_config> parse(std::span<std::byte const> json, std::string_view file = "config.json");
  /// From keys (dotted ones too) and numbers, for tests and for engines that have no file.
  static model_config of(std::initializer_list<std::pair<std::string_view, u64>> numbers);

  [[nodiscard]] bool empty() const noexcept { return tree_.empty(); }
  /// A non-negative integer, or a boolean as 0 or 1. @returns nothing where it is absent or something else
  [[nodiscard]] std::optional<u64> number(std::string_view key) const;
  /// The same, for a key that must be there. @errors config: absent, or something else; says what
  [[nodiscard]] result<u64> required(std::string_view key) const;
  /// Any number.
  [[nodiscard]] std::optional<double> real(std::string_view key) const;
  /// A string. It lives in this config.
  [[nodiscard]] std::optional<std::string_view> text(std::string_view key) const&;
  /// A string, or a list of strings. Empty where there is none, or another thing in the list.
  [[nodiscard]] std::vector<std::string> texts(std::string_view key) const;
  /// A non-negative integer, or a list of them (`eos_token_id` is either). Empty as in texts().
  [[nodiscard]] std::vector<u64> numbers(std::string_view key) const;

  /// By `mlp_only_layers` and `decoder_sparse_step`; true where they are not there.
  [[nodiscard]] bool has_experts(u64 layer) const;

  /// The class that made the checkpoint, architectures[0]; empty where it is not said.
  [[nodiscard]] std::string_view architecture() const&;
  [[nodiscard]] std::string_view model_type() const& { return text("model_type").value_or(std::string_view{}); }
  /// The key of the nested text config; empty: there is none.
  [[nodiscard]] std::string_view text_config() const& noexcept { return text_at_ ? tree_.key(text_at_) : ""; }
  void text(std::string_view) const&& = delete;
  void architecture() const&& = delete;
  void model_type() const&& = delete;
  void text_config() const&& = delete;

  /// The quantisation that is declared, or null.
  [[nodiscard]] quant_declaration const* quantization() const& noexcept { return quant_ ? &*quant_ : nullptr; }
  void quantization() const&& = delete;
  /// Adds ModelOpt's `hf_quant_config.json`. It counts where config.json declares nothing.
  /// @errors config: as in parse; it contradicts config.json
  result<void> add_quantization(std::span<std::byte const> json, std::string_view file = "hf_quant_config.json");

  /// A hash of the content: equal on all hosts, whatever the order of keys and the spaces.
  [[nodiscard]] u64 fingerprint() const { return detail::hash_of(tree_.hash(), quant_file_); }
  /// Every value that is no object, as dotted path and JSON (strings cut), in the order of the file.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> entries() const;

 private:
  std::optional<u32> find(std::string_view key) const;
  std::optional<u64> number_at(std::optional<u32> n) const;
  std::optional<u64> left_out(std::string_view key) const;
  result<void> check_sizes(u32 place) const;
  result<void> check_head() const;

  detail::json_tree tree_;
  std::string file_ = "config.json";
  u32 text_at_ = 0;  // the nested text config; 0: there is none
  std::optional<quant_declaration> quant_;
  u64 quant_file_ = 0;  // hash of hf_quant_config.json
};
PENSTOCK_END

#ifndef PENSTOCK_SEPARATE_COMPILATION
#  include <penstock/format/config.ipp>
#endif
