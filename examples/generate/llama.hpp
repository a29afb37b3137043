#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "llama_config.hpp"
#include "rank_group.hpp"

namespace generate {
/// The upper half of a float.
using bf16 = std::uint16_t;

/// The values of a parameter of this rank, by its name; nothing where there is no such parameter.
using find_parameter = std::function<std::span<bf16 const>(std::string const& name)>;

/// y = W x + b, W as [out, in]; no bias is an empty one.
struct linear {
  std::span<bf16 const> weight, bias;
};

struct layer_weights {
  std::span<bf16 const> attention_norm, mlp_norm;
  linear qkv;      // rows: this rank's queries, then its keys, then its values
  linear o;        // columns: this rank's queries' outputs
  linear gate_up;  // rows: this rank's gates, then its ups
  linear down;     // columns: this rank's part of the MLP
};

/// One rank's share of a model: what it has of each parameter, as the plan cut it.
struct rank_weights {
  std::size_t heads = 0, kv_heads = 0, intermediate = 0, vocab = 0;  // this rank's; vocab with its padding
  std::span<bf16 const> embedding, norm, head;
  std::vector<layer_weights> layers;
};

/// Looks up all parameters of one rank and checks their sizes.
///
/// @param ranks  the number of ranks that share the model
/// @errors std::runtime_error: a parameter is missing or has another size
rank_weights find_weights(llama_config const& config, std::size_t ranks, find_parameter const& find);

/// One rank of a running model: its weights, its part of the cache of keys and values, and room to compute in.
///
/// All ranks are given the same tokens; each on a thread of its own. Nothing is allocated after the constructor.
class llama_rank {
 public:
  /// @param weights    must stay where they are while this is used
  /// @param positions  the most tokens that will be taken
  llama_rank(llama_config const& config, rank_weights weights, rank_group& group, std::size_t rank,
             std::size_t positions);

  /// Takes the next token of the text.
  void take(token_id token);

  /// The token that fits best behind those taken so far.
  [[nodiscard]] token_id best_next();

 private:
  void embed(token_id token);
  void attend(std::size_t layer);
  void transform(std::size_t layer);
  void rotate(std::span<float> heads) const;

  llama_config config_;
  rank_weights weights_;
  rank_group& group_;
  std::size_t rank_, position_ = 0;

  std::vector<float> keys_, values_;  // [layers, positions, kv_heads * head_dim]
  std::size_t positions_;
  std::vector<float> rope_;             // frequencies, [head_dim / 2]
  std::vector<float> cosine_, sine_;    // at this position, [head_dim / 2]
  std::vector<float> x_, normed_;       // [hidden]; x is the residual stream
  std::vector<float> qkv_, attended_;   // [(heads + 2 kv_heads) * head_dim], [heads * head_dim]
  std::vector<float> scores_;           // [positions]
  std::vector<float> gate_up_, delta_;  // [2 * intermediate], [hidden]
};
}  // namespace generate
