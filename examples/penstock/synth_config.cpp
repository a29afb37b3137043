#include "synth_config.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <penstock/format/config.hpp>

#include "synth_presets.hpp"

using namespace penstock;

namespace {
error usage(std::string message) { return error{error_kind::usage, std::move(message)}; }

/// Widths, and what they stay multiples of, as far as the real one is: 128 is a block of a scale; 1024 is one for each of
/// eight ranks; a vocabulary is dealt out in 64ths.
struct width {
  char const* key;
  u64 unit;
};
constexpr width widths[] = {{"hidden_size", 128}, {"intermediate_size", 1024}, {"moe_intermediate_size", 1024},
                            {"q_lora_rank", 128}, {"kv_lora_rank", 128},       {"vocab_size", 512}};

/// How a scheme is declared; nothing: not at all.
struct declaration {
  std::string_view scheme, json;
};
constexpr declaration declarations[] = {{"none", ""},
                                        {"fp8_block", R"({
    "activation_scheme": "dynamic",
    "fmt": "e4m3",
    "quant_method": "fp8",
    "weight_block_size": [128, 128]
  })"},
                                        {"mxfp4", R"({"quant_method": "mxfp4"})"},
                                        {"wna16", R"({
    "config_groups": {"group_0": {
      "input_activations": null,
      "targets": ["Linear"],
      "weights": {"num_bits": 4, "type": "int", "strategy": "group", "group_size": 32, "symmetric": true}
    }},
    "format": "pack-quantized",
    "ignore": ["lm_head"],
    "quant_method": "compressed-tensors"
  })"}};

/// The members of a JSON object of ours, each value as it is written.
class json_members {
 public:
  explicit json_members(std::string_view object) {
    auto const key_from = [&](std::size_t at) { return object.find('"', at); };
    for (auto at = key_from(0); at != object.npos;) {
      auto const key_end = object.find('"', at + 1);
      auto const begin = object.find_first_not_of(": ", key_end + 1), end = end_of_value(object, begin);
      list_.emplace_back(object.substr(at + 1, key_end - at - 1), object.substr(begin, end - begin));
      at = key_from(end);
    }
  }
  void set(std::string_view key, std::string value) {
    if (auto const m = find(key); m != list_.end()) m->second = std::move(value);
    else list_.emplace_back(key, std::move(value));
  }
  void set(std::string_view key, u64 n) { set(key, std::to_string(n)); }
  bool has(std::string_view key) { return find(key) != list_.end(); }
  void remove(std::string_view key) {
    if (auto const m = find(key); m != list_.end()) list_.erase(m);
  }
  /// An object that is a member; without members where it is not there.
  json_members inside(std::string_view key) {
    auto const m = find(key);
    return json_members{m == list_.end() ? std::string_view{} : std::string_view{m->second}};
  }
  std::string text() const {
    std::string s;
    for (auto const& [key, value] : list_) s += (s.empty() ? "{\n  \"" : ",\n  \"") + key + "\": " + value;
    return s + "\n}";
  }

 private:
  using members = std::vector<std::pair<std::string, std::string>>;

  members::iterator find(std::string_view key) {
    return std::find_if(list_.begin(), list_.end(), [&](auto const& m) { return m.first == key; });
  }
  /// The comma or brace behind a value. Strings hold no brackets here, and no commas.
  static std::size_t end_of_value(std::string_view s, std::size_t at) {
    for (int depth = 0;; ++at) {
      if (!depth && (s[at] == ',' || s[at] == '}' || s[at] == '\n')) return at;
      if (s[at] == '{' || s[at] == '[') ++depth;
      if (s[at] == '}' || s[at] == ']') --depth;
    }
  }
  members list_;
};

model_config parsed(std::string const& json) {
  return model_config::parse(std::as_bytes(std::span{json.data(), json.size()})).value();
}

/// `n` times `by`, a multiple of `unit` as far as n is.
u64 scaled(u64 n, double by, u64 unit) {
  unit = std::gcd(n, unit);
  return unit * std::max(u64{1}, static_cast<u64>(std::llround(static_cast<double>(n / unit) * by)));
}
/// The largest divisor of `n` that divides `other` too and is at most `most`, and a multiple of `unit`; else `unit`.
u64 divisor(u64 n, u64 other, double most, u64 unit) {
  for (u64 d = n; d > unit; --d)
    if (n % d == 0 && other % d == 0 && d % unit == 0 && static_cast<double>(d) <= most) return d;
  return unit;
}

/// Heads: a divisor of the real number, so that as many ranks can share them; each of eight ranks has whole blocks of 128
/// rows where it has them in the real model.
void scale_heads(json_members& m, model_config const& real, double by) {
  auto const heads = *real.number("num_attention_heads"), kv = *real.number("num_key_value_heads");
  auto const blocks_of = [](u64 rows) { return 128 / std::gcd(rows, u64{128}); };
  u64 in_one = 1;  // heads that make whole blocks together
  if (auto const nope = real.number("qk_nope_head_dim"))
    in_one = std::lcm(blocks_of(*nope + *real.number("qk_rope_head_dim")), blocks_of(*real.number("v_head_dim")));
  else in_one = blocks_of(*real.number("head_dim"));
  auto const fewer = divisor(heads, heads, static_cast<double>(heads) * by, std::gcd(heads, 8 * in_one));
  m.set("num_attention_heads", fewer);
  m.set("num_key_value_heads", kv == heads ? fewer : divisor(kv, fewer, static_cast<double>(kv) * by, 1));
  if (!real.number("qk_nope_head_dim")) m.set("head_dim", *real.number("head_dim"));
}

void set_layers(json_members& m, model_config const& real, u64 layers) {
  m.set("num_hidden_layers", layers);
  if (auto const dense = *real.number("first_k_dense_replace"))
    m.set("first_k_dense_replace", std::min(dense, std::max(layers - 1, u64{1})));
}

/// A vision tower has at most as many layers, and its widths are scaled; its heads stay.
void set_vision(json_members& m, model_config const& real, arguments const& a, u64 hidden) {
  auto const is = [&](char const* key) { return *real.number(std::string{"vision_config."} + key); };
  if (a.layers) m.set("vt_num_hidden_layers", std::min<u64>(*a.layers, is("vt_num_hidden_layers")));
  if (a.scale < 1) {
    auto const width = scaled(is("vt_hidden_size"), a.scale, 128);
    m.set("vt_hidden_size", width), m.set("mm_hidden_size", width);
    m.set("vt_intermediate_size", scaled(is("vt_intermediate_size"), a.scale, 16));
  }
  m.set("text_hidden_size", hidden);
}

/// Nothing where the model has no experts.
std::optional<u64> experts_of(model_config const& real) {
  auto const routed = real.number("n_routed_experts");
  return routed ? routed : real.number("num_experts");
}

/// The groups that a token chooses its experts from have at least two each, and hold as many as it chooses.
void set_experts(json_members& m, model_config const& real, u64 experts) {
  for (auto const* key : {"n_routed_experts", "num_experts", "num_local_experts"})
    if (m.has(key)) m.set(key, experts);
  auto groups = real.number("n_group").value_or(1);
  while (groups > 1 && (experts % groups || experts / groups < 2)) --groups;
  auto const chosen = std::min(real.number("topk_group").value_or(1), groups);
  if (m.has("n_group")) m.set("n_group", groups), m.set("topk_group", chosen);
  auto const each = std::min(*real.number("num_experts_per_tok"), experts / groups * chosen);
  m.set("num_experts_per_tok", each);
  if (m.has("experts_per_token")) m.set("experts_per_token", each);
}

result<void> check(arguments const& a, model_config const& real) {
  constexpr u64 most_layers = 1000, most_experts = 4096, most_of_both = 250'000;
  auto const outside = [](char const* option, std::optional<u32> n, u64 most) -> result<void> {
    if (!n || (*n >= 1 && *n <= most)) return {};
    return usage(std::string{option} + ": expected a number from 1 to " + std::to_string(most) + ", found " +
                 std::to_string(*n));
  };
  if (auto r = outside("--layers", a.layers, most_layers); !r) return r;
  if (auto r = outside("--experts", a.experts, most_experts); !r) return r;
  if (a.experts && !experts_of(real))
    return usage("--experts: expected a model that has experts, found " + a.model + "; leave it out");
  u64 const experts = a.experts ? *a.experts : experts_of(real).value_or(1);
  u64 const layers = a.layers ? *a.layers : *real.number("num_hidden_layers");
  if (layers * experts > most_of_both)
    return usage("--layers and --experts: expected at most " + std::to_string(most_of_both) +
                 " experts in all layers, found " + std::to_string(layers * experts));
  if (!(a.scale > 0 && a.scale <= 1))
    return usage("--scale: expected a number above 0 and at most 1, found " + std::to_string(a.scale));
  return {};
}
}  // namespace

result<std::string> synth_config(arguments const& a) {
  auto const* preset = preset_named(a.model);
  if (!preset) {
    std::string names = "llama";
    for (auto const& p : presets()) names += ", " + std::string{p.name};
    return usage("MODEL: expected one of " + names + ", found \"" + a.model + "\"");
  }
  auto const real = parsed(std::string{preset->config});
  if (auto ok = check(a, real); !ok) return std::move(ok).error();

  json_members whole{preset->config};
  bool const nested = whole.has("text_config");
  auto m = nested ? whole.inside("text_config") : whole;
  if (a.layers) set_layers(m, real, *a.layers);
  if (a.experts) set_experts(m, real, *a.experts);
  if (a.scale < 1) {
    for (auto const& w : widths)
      if (auto const n = real.number(w.key).value_or(0)) m.set(w.key, scaled(n, a.scale, w.unit));
    scale_heads(m, real, a.scale);
  }
  if (!a.quant.empty()) {
    auto const is_wanted = [&](declaration const& known) { return known.scheme == a.quant; };
    auto const d = std::find_if(std::begin(declarations), std::end(declarations), is_wanted);
    if (d == std::end(declarations)) {
      std::string names;
      for (auto const& known : declarations) names += (names.empty() ? "" : ", ") + std::string{known.scheme};
      return usage("--quant: expected one of " + names + ", found \"" + a.quant + "\"");
    }
    if (d->json.empty()) m.remove("quantization_config");
    else m.set("quantization_config", std::string{d->json});
  }
  if (!nested) return m.text();
  if (auto vision = whole.inside("vision_config"); whole.has("vision_config")) {
    set_vision(vision, real, a, *parsed(m.text()).number("hidden_size"));
    whole.set("vision_config", vision.text());
  }
  whole.set("text_config", m.text());
  return whole.text();
}
