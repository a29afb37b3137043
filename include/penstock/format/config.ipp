#pragma once
#include <array>

#include <penstock/format/config.hpp>
#include <penstock/format/detail/message.hpp>

PENSTOCK_BEGIN
namespace detail {
struct size_limit {
  std::string_view key;
  u64 most;
};
inline constexpr u64 most_of_size = ~u32{};  // so that the product of two fits 64 bits
inline constexpr u64 most_of_count = 100'000;
/// Sizes that much is multiplied and counted by. Lists are allowed: some models give one for each layer.
inline constexpr std::array<size_limit, 21> size_limits{{
    {"hidden_size", most_of_size},
    {"intermediate_size", most_of_size},
    {"moe_intermediate_size", most_of_size},
    {"vocab_size", most_of_size},
    {"max_position_embeddings", most_of_size},
    {"head_dim", most_of_size},
    {"kv_lora_rank", most_of_size},
    {"q_lora_rank", most_of_size},
    {"qk_nope_head_dim", most_of_size},
    {"qk_rope_head_dim", most_of_size},
    {"v_head_dim", most_of_size},
    {"num_hidden_layers", most_of_count},
    {"num_nextn_predict_layers", most_of_count},
    {"first_k_dense_replace", most_of_count},
    {"num_attention_heads", most_of_count},
    {"num_key_value_heads", most_of_count},
    {"num_experts", most_of_count},
    {"num_local_experts", most_of_count},
    {"n_routed_experts", most_of_count},
    {"n_shared_experts", most_of_count},
    {"num_experts_per_tok", most_of_count},
}};

/// Another key that answers for this one; empty: none.
constexpr std::string_view other_spelling(std::string_view key) noexcept {
  if (key == "torch_dtype") return "dtype";
  if (key == "dtype") return "torch_dtype";
  if (key == "num_experts") return "num_local_experts";
  if (key == "num_local_experts") return "num_experts";
  if (key == "rope_theta") return "rope_parameters.rope_theta";
  return {};
}
}  // namespace detail

PENSTOCK_INLINE result<model_config> model_config::parse(std::span<std::byte const> json, std::string_view file) {
  auto tree = detail::json_tree::parse(json, file, most);
  if (!tree) return std::move(tree).error();
  model_config c;
  c.tree_ = *std::move(tree);
  c.file_ = file;
  for (std::string_view key : {"text_config", "language_config", "llm_config"})
    if (auto const n = c.tree_.find(key); !c.text_at_ && n && c.tree_.kind(*n) == detail::json_kind::object)
      c.text_at_ = *n;
  for (u32 const place : {0u, c.text_at_})
    if (auto r = c.check_sizes(place); !r) return std::move(r).error();
  if (auto r = c.check_head(); !r) return std::move(r).error();
  auto quant = detail::find_quantization(c.tree_, c.text_config(), file);
  if (!quant) return std::move(quant).error();
  c.quant_ = *std::move(quant);
  return c;
}

PENSTOCK_INLINE model_config model_config::of(std::initializer_list<std::pair<std::string_view, u64>> numbers) {
  model_config c;
  for (auto const& [key, n] : numbers) c.tree_.put(key, n);
  return c;
}

namespace detail {
/// Can two declarations not be true of the same weights? They may say the same in other words.
PENSTOCK_INLINE bool contradict(quant_declaration const& a, quant_declaration const& b) {
  auto const bits = [](quant_declaration const& d) {
    for (std::string_view const name : {d.method, d.format})
      for (u64 const n : {u64{4}, u64{8}})
        if (name.find(n == 4 ? "fp4" : "fp8") != name.npos || name.find(n == 4 ? "FP4" : "FP8") != name.npos) return n;
    return d.bits.value_or(0);
  };
  auto const differ = [](u64 x, u64 y) { return x && y && x != y; };
  return differ(bits(a), bits(b)) || differ(a.group_size.value_or(0), b.group_size.value_or(0)) ||
         (!a.weight_block_size.empty() && !b.weight_block_size.empty() && a.weight_block_size != b.weight_block_size);
}
}  // namespace detail

PENSTOCK_INLINE result<void> model_config::add_quantization(std::span<std::byte const> json, std::string_view file) {
  auto const tree = detail::json_tree::parse(json, file, most);
  if (!tree) return tree.error();
  auto quant = detail::find_quantization(*tree, {}, file);
  if (!quant) return std::move(quant).error();
  quant_file_ = tree->hash();
  if (quant_ && *quant && detail::contradict(*quant_, **quant))
    return error{error_kind::config, detail::joined(file_, " declares ", to_string(*quant_), ", but ", file, " ",
                                                    to_string(**quant), "; remove the one that is not true")};
  if (!quant_ && *quant) {
    quant_ = *std::move(quant);
    quant_->where = detail::joined(file, ":", quant_->where);
  }
  return {};
}

PENSTOCK_INLINE result<void> model_config::check_sizes(u32 place) const {
  using detail::json_kind;
  auto const prefix = place ? detail::joined(tree_.key(place), ".") : std::string{};
  for (auto const& limit : detail::size_limits) {
    auto const at = tree_.find(limit.key, place);
    if (!at) continue;
    auto odd = [&](u32 n) { return tree_.kind(n) != json_kind::natural || tree_.natural(n) > limit.most; };
    std::optional<u32> wrong;
    if (tree_.kind(*at) == json_kind::list) tree_.for_each(*at, [&](u32 n) { wrong = odd(n) ? n : wrong; });
    else if (odd(*at)) wrong = at;
    if (wrong)
      return error{error_kind::config,
                   detail::joined(file_, ": expected ", prefix, limit.key, " to be an integer from 0 to ", limit.most,
                                  ", found ", tree_.shown(*wrong), "; correct it or get the file again")};
  }
  return {};
}

PENSTOCK_INLINE result<void> model_config::check_head() const {
  auto const hidden = number_at(find("hidden_size")), heads = number_at(find("num_attention_heads"));
  // where attention is of low rank, other keys give the sizes of a head
  if (!hidden || !heads || find("head_dim") || find("kv_lora_rank") || find("qk_nope_head_dim")) return {};
  if (*heads && *hidden % *heads == 0) return {};
  return error{error_kind::config,
               detail::joined(file_, ": expected head_dim, or a hidden_size that num_attention_heads divides, found ",
                              *hidden, " and ", *heads, "; add head_dim to the file")};
}

PENSTOCK_INLINE std::optional<u32> model_config::find(std::string_view key) const {
  auto const other = detail::other_spelling(key);
  for (u32 const place : {0u, text_at_}) {
    if (auto const n = tree_.find(key, place)) return n;
    if (other.empty()) continue;
    if (auto const n = tree_.find(other, place)) return n;
  }
  return std::nullopt;
}

PENSTOCK_INLINE std::optional<u64> model_config::number_at(std::optional<u32> n) const {
  using detail::json_kind;
  if (!n || (tree_.kind(*n) != json_kind::natural && tree_.kind(*n) != json_kind::boolean)) return std::nullopt;
  return tree_.natural(*n);
}

/// What a key means that is not there.
PENSTOCK_INLINE std::optional<u64> model_config::left_out(std::string_view key) const {
  if (empty()) return std::nullopt;
  if (key == "num_key_value_heads") return number_at(find("num_attention_heads"));
  if (key == "head_dim") {
    auto const hidden = number_at(find("hidden_size")), heads = number_at(find("num_attention_heads"));
    if (!hidden || !heads || !*heads || *hidden % *heads) return std::nullopt;
    return *hidden / *heads;
  }
  if (key == "tie_word_embeddings") {
    for (u32 const place : {0u, text_at_})
      if (auto const type = tree_.find("model_type", place))
        if (tree_.kind(*type) == detail::json_kind::text && tree_.text(*type).starts_with("gemma")) return 1;
    return 0;
  }
  if (key == "attention_bias" && model_type() == "gpt_oss") return 1;
  if (key == "is_quantised") return quant_.has_value();
  if (key == "vision_merged_size") {
    auto const width = number("vision_config.vt_hidden_size");
    u64 patches = 1;
    auto const kernel = numbers("vision_config.merge_kernel_size");
    for (u64 const n : kernel)
      if (__builtin_mul_overflow(patches, n, &patches)) return std::nullopt;
    u64 size = 0;
    return !width || kernel.empty() || __builtin_mul_overflow(*width, patches, &size) ? std::nullopt
                                                                                      : std::optional{size};
  }
  for (std::string_view zero : {"attention_bias", "mlp_bias", "q_lora_rank", "n_shared_experts",
                                "first_k_dense_replace", "num_nextn_predict_layers", "use_qk_norm"})
    if (key == zero) return 0;
  if (key == "vision_config.in_channels") return 3;
  if (key == "vision_config.deepstack_layers") return numbers("vision_config.deepstack_visual_indexes").size();
  if (key == "vision_config.merged_size") {
    auto const embed = number("vision_config.embed_dim"), width = embed ? embed : number("vision_config.hidden_size");
    auto const merge = number("vision_config.spatial_merge_size");
    return width && merge && *width < 1u << 20 && *merge < 1u << 10 ? std::optional{*width * *merge * *merge}
                                                                    : std::nullopt;
  }
  if (key == "layers_with_mtp") {
    auto const layers = number("num_hidden_layers"), draft = number("num_nextn_predict_layers");
    return layers && draft ? std::optional{*layers + *draft} : std::nullopt;
  }
  if (key == "shared_intermediate_size") {
    auto const width = number("moe_intermediate_size"), count = number("n_shared_experts");
    return width && count ? std::optional{*width * *count} : std::nullopt;
  }
  if (key == "router_has_bias") {
    auto const method = text("topk_method");
    return method ? *method == "noaux_tc" : architecture() == "DeepseekV3ForCausalLM";
  }
  return std::nullopt;
}

PENSTOCK_INLINE std::optional<u64> model_config::number(std::string_view key) const {
  auto const n = find(key);
  return n ? number_at(n) : left_out(key);
}

PENSTOCK_INLINE result<u64> model_config::required(std::string_view key) const {
  if (auto const n = number(key)) return *n;
  auto const at = find(key);
  return error{error_kind::config,
               detail::joined(file_, ": expected a non-negative integer ", key, ", found ",
                              at ? tree_.shown(*at) : std::string{empty() ? "no config at all" : "no such key"},
                              "; correct it or get the file again")};
}

PENSTOCK_INLINE std::optional<double> model_config::real(std::string_view key) const {
  using detail::json_kind;
  auto const n = find(key);
  if (!n) return std::nullopt;
  auto const k = tree_.kind(*n);
  if (k != json_kind::natural && k != json_kind::negative && k != json_kind::real) return std::nullopt;
  return tree_.real(*n);
}

PENSTOCK_INLINE std::optional<std::string_view> model_config::text(std::string_view key) const& {
  auto const n = find(key);
  if (!n || tree_.kind(*n) != detail::json_kind::text) return std::nullopt;
  return tree_.text(*n);
}

PENSTOCK_INLINE std::vector<std::string> model_config::texts(std::string_view key) const {
  using detail::json_kind;
  auto const n = find(key);
  if (!n) return {};
  if (tree_.kind(*n) == json_kind::text) return {std::string{tree_.text(*n)}};
  std::vector<std::string> all;
  bool good = tree_.kind(*n) == json_kind::list;
  if (good)
    tree_.for_each(*n, [&](u32 i) {
      good = good && tree_.kind(i) == json_kind::text;
      if (good) all.emplace_back(tree_.text(i));
    });
  return good ? all : std::vector<std::string>{};
}

PENSTOCK_INLINE std::vector<u64> model_config::numbers(std::string_view key) const {
  using detail::json_kind;
  auto const n = find(key);
  if (!n) return {};
  if (tree_.kind(*n) == json_kind::natural) return {tree_.natural(*n)};
  std::vector<u64> all;
  bool good = tree_.kind(*n) == json_kind::list;
  if (good)
    tree_.for_each(*n, [&](u32 i) {
      good = good && tree_.kind(i) == json_kind::natural;
      all.push_back(tree_.natural(i));
    });
  return good ? all : std::vector<u64>{};
}

PENSTOCK_INLINE bool model_config::has_experts(u64 layer) const {
  u64 const step = number("decoder_sparse_step").value_or(1);
  for (u64 const dense : numbers("mlp_only_layers"))
    if (dense == layer) return false;
  return step && (layer + 1) % step == 0;
}

PENSTOCK_INLINE std::string_view model_config::architecture() const& {
  auto const n = find("architectures");
  std::string_view name;
  if (n && tree_.kind(*n) == detail::json_kind::list)
    tree_.for_each(*n, [&](u32 i) {
      if (name.empty() && tree_.kind(i) == detail::json_kind::text) name = tree_.text(i);
    });
  return name;
}

PENSTOCK_INLINE std::vector<std::pair<std::string, std::string>> model_config::entries() const {
  std::vector<std::pair<std::string, std::string>> all;
  auto const walk = [&](auto const& self, u32 n, std::string const& prefix) -> void {
    tree_.for_each(n, [&](u32 i) {
      auto const path = prefix.empty() ? std::string{tree_.key(i)} : detail::joined(prefix, ".", tree_.key(i));
      if (tree_.kind(i) == detail::json_kind::object) return self(self, i, path);
      if (tree_.kind(i) != detail::json_kind::list) return static_cast<void>(all.emplace_back(path, tree_.shown(i)));
      std::string list;
      tree_.for_each(i, [&](u32 item) { list += (list.empty() ? "" : ", ") + tree_.shown(item); });
      all.emplace_back(path, "[" + list + "]");
    });
  };
  walk(walk, 0, {});
  return all;
}
PENSTOCK_END
