#include "llama_config.hpp"

#include <simdjson.h>

#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>

namespace generate {
namespace {
using simdjson::dom::element;

[[noreturn]] void refuse(std::string const& what) { throw std::runtime_error{"config.json: " + what}; }

/// The value of a key; a null counts as absent.
bool find(element object, std::string_view key, element& value) {
  return object[key].get(value) == simdjson::SUCCESS && !value.is_null();
}

std::size_t size_of(element config, std::string_view key, std::size_t otherwise) {
  element value;
  if (!find(config, key, value)) return otherwise;
  std::uint64_t number = 0;
  if (value.get(number) != simdjson::SUCCESS || number == 0 || number > std::numeric_limits<std::uint32_t>::max())
    refuse("expected a positive number as " + std::string{key});
  return number;
}

std::size_t size_of(element config, std::string_view key) {
  auto const size = size_of(config, key, 0);
  if (size == 0) refuse("expected " + std::string{key} + ", found nothing");
  return size;
}

float number_of(element config, std::string_view key, float otherwise) {
  element value;
  if (!find(config, key, value)) return otherwise;
  double number = 0;
  if (value.get(number) != simdjson::SUCCESS) refuse("expected a number as " + std::string{key});
  return static_cast<float>(number);
}

std::string text_of(element config, std::string_view key, std::string_view otherwise) {
  element value;
  std::string_view text = otherwise;
  if (find(config, key, value) && value.get(text) != simdjson::SUCCESS)
    refuse("expected a text as " + std::string{key});
  return std::string{text};
}

void expect(element config, std::string_view key, std::string_view wanted, std::string_view otherwise) {
  auto const found = text_of(config, key, otherwise);
  if (found != wanted) refuse("expected " + std::string{key} + " " + std::string{wanted} + ", found '" + found + "'");
}

/// `rope_theta` stands on top, or in `rope_parameters` since transformers 5. Scaled positions are refused.
float rope_theta_of(element config) {
  float theta = number_of(config, "rope_theta", 10000);
  for (auto const* key : {"rope_scaling", "rope_parameters"}) {
    element rope;
    if (!find(config, key, rope)) continue;
    expect(rope, "rope_type", "default", text_of(rope, "type", "default"));
    theta = number_of(rope, "rope_theta", theta);
  }
  return theta;
}

/// One id, a list of ids, or none.
void read_end_of_text(element config, std::vector<token_id>& ids) {
  element value;
  if (!find(config, "eos_token_id", value)) return;
  ids.clear();
  if (simdjson::dom::array list; value.get(list) == simdjson::SUCCESS) {
    for (auto const id : list) ids.push_back(static_cast<token_id>(std::uint64_t{id}));
  } else {
    ids.push_back(static_cast<token_id>(std::uint64_t{value}));
  }
}
}  // namespace

llama_config read_llama_config(std::filesystem::path const& folder) try {
  simdjson::dom::parser parser;
  element const file = parser.load((folder / "config.json").string());
  expect(file, "model_type", "llama", "");
  expect(file, "hidden_act", "silu", "silu");

  llama_config c;
  c.hidden = size_of(file, "hidden_size");
  c.intermediate = size_of(file, "intermediate_size");
  c.layers = size_of(file, "num_hidden_layers");
  c.heads = size_of(file, "num_attention_heads");
  c.kv_heads = size_of(file, "num_key_value_heads", c.heads);
  c.head_dim = size_of(file, "head_dim", c.hidden / c.heads);
  c.vocab = size_of(file, "vocab_size");
  c.positions = size_of(file, "max_position_embeddings", 2048);
  c.rope_theta = rope_theta_of(file);
  c.rms_norm_eps = number_of(file, "rms_norm_eps", 1e-6F);
  if (element tied; find(file, "tie_word_embeddings", tied)) c.tied_head = tied;
  if (c.heads % c.kv_heads != 0 || c.head_dim % 2 != 0)
    refuse("expected whole groups of heads and an even head_dim, found " + std::to_string(c.heads) + " heads, " +
           std::to_string(c.kv_heads) + " key and value heads, head_dim " + std::to_string(c.head_dim));
  if (std::uint64_t id = 0; file["bos_token_id"].get(id) == simdjson::SUCCESS)
    c.begin_of_text = static_cast<token_id>(id);
  read_end_of_text(file, c.end_of_text);

  auto const generation = folder / "generation_config.json";
  if (std::filesystem::exists(generation)) read_end_of_text(parser.load(generation.string()), c.end_of_text);
  return c;
} catch (simdjson::simdjson_error const& e) {
  throw std::runtime_error{folder.string() + ": config.json or generation_config.json: " + e.what()};
}
}  // namespace generate
