// A weight map of one's own: Llama with two rules changed and one added, checked while compiling.
#include <penstock/arch/llama.hpp>
#include <penstock/arch/weight_map.hpp>
#include <penstock/plan/make_plan.hpp>

#include <cstdio>

namespace acme {
using namespace penstock::arch;
using penstock::dim;

/// Attention is data-parallel: o_proj is whole on every rank, and its output is scaled by a vector of its own. The
/// vocabulary is padded to the number of ranks.
struct scaled_llama {
  static constexpr std::string_view name = "scaled_llama";
  static constexpr std::string_view classes[] = {"ScaledLlamaForCausalLM"};
  static constexpr auto map =
      rules(override_rules(
                llama::map, tensor("model.embed_tokens.weight", vocab, hidden).by_vocab(0),
                each("model.layers.*", 0, layers,
                     shared_by(penstock::rank_group::attention, linear("self_attn.o_proj", hidden, heads* head_dim)))),
            each("model.layers.*", 0, layers, tensor("self_attn.o_scale", hidden)));
};
}  // namespace acme

// What is wrong with a map is said here, with the name of the tensor and the line of the rule.
constexpr auto map = penstock::weight_map_of<acme::scaled_llama, penstock::quant::none>::view();

int main() {
  auto const config = penstock::model_config::of({{"hidden_size", 8},
                                                  {"num_hidden_layers", 1},
                                                  {"vocab_size", 5},
                                                  {"intermediate_size", 12},
                                                  {"num_attention_heads", 2},
                                                  {"num_key_value_heads", 2},
                                                  {"head_dim", 4},
                                                  {"tie_word_embeddings", 1},
                                                  {"attention_bias", 0},
                                                  {"mlp_bias", 0}});
  penstock::checkpoint c;
  c.shards.push_back({"model.safetensors", penstock::mebibytes(1), "1"});
  penstock::bytes end;
  auto add = [&](char const* name, penstock::shape s) {
    auto const size = *s.size(penstock::dtype::bf16);
    c.tensors.push_back({name, penstock::dtype::bf16, s, penstock::object_id{0}, {end, size}});
    end += size;
  };
  add("model.embed_tokens.weight", {5, 8}), add("model.norm.weight", {8});
  add("model.layers.0.input_layernorm.weight", {8}), add("model.layers.0.post_attention_layernorm.weight", {8});
  for (auto name : {"q", "k", "v", "o"})
    add((std::string{"model.layers.0.self_attn."} + name + "_proj.weight").c_str(), {8, 8});
  add("model.layers.0.self_attn.o_scale", {8});
  add("model.layers.0.mlp.gate_proj.weight", {12, 8}), add("model.layers.0.mlp.up_proj.weight", {12, 8}),
      add("model.layers.0.mlp.down_proj.weight", {8, 12});

  auto const plan = penstock::make_plan(c, config, map, penstock::topology{.tp = 2, .rank = 1}).value();
  for (auto const& p : plan.parameters) std::printf("%-48s %s\n", p.name.c_str(), to_string(p.shape).c_str());
  bool const right = plan.find("model.layers.0.self_attn.o_proj.weight")->shape == penstock::shape{8, 8} &&
                     plan.find("model.layers.0.self_attn.o_scale") &&
                     plan.find("model.embed_tokens.weight")->shape == penstock::shape{3, 8};
  return right ? 0 : 1;
}
