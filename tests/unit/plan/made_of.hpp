#pragma once
#include <penstock/arch/llama.hpp>
#include <penstock/arch/weight_map.hpp>
#include <penstock/plan/make_plan.hpp>

#include <string>
#include <vector>

namespace test {
using namespace penstock;

/// A checkpoint of one shard, without a file: tensors follow each other from byte 100.
struct made_checkpoint {
  checkpoint all;
  u64 end = 100;

  made_checkpoint() {
    all.uri = "memory://made";
    all.shards.push_back({"model.safetensors", bytes{}, "v1"});
  }
  void add(std::string name, shape s, dtype t = dtype::bf16) {
    auto const size = *s.size(t);
    all.tensors.push_back({std::move(name), t, s, object_id{0}, {bytes{end}, size}});
    end += size.count;
    all.shards[0].size = bytes{end};
  }
};

struct llama_sizes {
  u64 hidden = 16, heads = 8, kv_heads = 2, head_dim = 4, intermediate = 24, vocab = 10, layers = 2;
  bool tied = false, attention_bias = false, mlp_bias = false;
};

inline model_config config_of(llama_sizes const& z) {
  return model_config::of({{"hidden_size", z.hidden},
                           {"num_hidden_layers", z.layers},
                           {"vocab_size", z.vocab},
                           {"intermediate_size", z.intermediate},
                           {"num_attention_heads", z.heads},
                           {"num_key_value_heads", z.kv_heads},
                           {"head_dim", z.head_dim},
                           {"tie_word_embeddings", z.tied},
                           {"attention_bias", z.attention_bias},
                           {"mlp_bias", z.mlp_bias}});
}

inline made_checkpoint llama_checkpoint(llama_sizes const& z) {
  made_checkpoint c;
  c.add("model.embed_tokens.weight", {z.vocab, z.hidden});
  for (u64 l = 0; l < z.layers; ++l) {
    auto const in = "model.layers." + std::to_string(l) + ".";
    c.add(in + "input_layernorm.weight", {z.hidden});
    c.add(in + "mlp.down_proj.weight", {z.hidden, z.intermediate});
    c.add(in + "mlp.gate_proj.weight", {z.intermediate, z.hidden});
    c.add(in + "mlp.up_proj.weight", {z.intermediate, z.hidden});
    c.add(in + "post_attention_layernorm.weight", {z.hidden});
    c.add(in + "self_attn.k_proj.weight", {z.kv_heads * z.head_dim, z.hidden});
    c.add(in + "self_attn.o_proj.weight", {z.hidden, z.heads * z.head_dim});
    c.add(in + "self_attn.q_proj.weight", {z.heads * z.head_dim, z.hidden});
    c.add(in + "self_attn.v_proj.weight", {z.kv_heads * z.head_dim, z.hidden});
    if (z.attention_bias) {
      c.add(in + "self_attn.k_proj.bias", {z.kv_heads * z.head_dim});
      c.add(in + "self_attn.o_proj.bias", {z.hidden});
      c.add(in + "self_attn.q_proj.bias", {z.heads * z.head_dim});
      c.add(in + "self_attn.v_proj.bias", {z.kv_heads * z.head_dim});
    }
  }
  c.add("model.norm.weight", {z.hidden});
  if (!z.tied) c.add("lm_head.weight", {z.vocab, z.hidden});
  return c;
}

inline constexpr auto llama_map = weight_map_of<arch::llama>::view();

/// Runs a plan on a file whose 16-bit element at byte b is b / 2, and gives the parameter's elements; 0xffff: not written.
inline std::vector<u16> run(plan const& p, std::string_view name) {
  auto const* q = p.find(name);
  if (!q) return {};
  std::vector<u16> out(q->size.count / 2, 0xffff);
  for (auto const& r : p.reads)
    for (u32 i = r.copies; i < r.copies_end; ++i) {
      auto const& c = p.copies[i];
      if (c.parameter() != q->id) continue;
      for (u64 row = 0; row < c.rows; ++row)
        for (u64 b = 0; b < c.width; b += 2) {
          auto& e = out[(c.at_row(row) + b) / 2];
          if (e != 0xffff) return {0xdead};  // written twice
          e = r.object == no_object ? u16{0} : static_cast<u16>((r.first + c.from_row(row) + b) / 2);
        }
    }
  return out;
}

/// The elements that a tensor has in that file.
inline u16 element(checkpoint const& c, std::string_view name, u64 index) {
  for (auto const& t : c.tensors)
    if (t.name == name) return static_cast<u16>(t.where.first.count / 2 + index);
  return 0xbad;
}
}  // namespace test
