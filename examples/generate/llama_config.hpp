#pragma once
#include <cstddef>
#include <filesystem>
#include <optional>
#include <vector>

#include "bpe.hpp"

namespace generate {
/// What the engine needs of a model's `config.json`.
struct llama_config {
  std::size_t hidden = 0;        // width of the residual stream
  std::size_t intermediate = 0;  // width of the MLP
  std::size_t layers = 0;
  std::size_t heads = 0;     // of queries
  std::size_t kv_heads = 0;  // of keys and values; each serves heads / kv_heads queries
  std::size_t head_dim = 0;
  std::size_t vocab = 0;
  std::size_t positions = 0;  // the longest text
  float rope_theta = 10000;
  float rms_norm_eps = 1e-6F;
  bool tied_head = false;                 // the embedding is the head as well
  std::optional<token_id> begin_of_text;  // where a text without a prompt begins
  std::vector<token_id> end_of_text;      // the ids at which a text ends
};

/// Reads `config.json` of a folder, and the ends of text of its `generation_config.json` where it has one.
///
/// @errors std::runtime_error: a file cannot be read or is wrong, or the model is no Llama of the plain kind
llama_config read_llama_config(std::filesystem::path const& folder);
}  // namespace generate
