// A config.json: refused, or every question has an answer of the kind that is promised.
#include <penstock/format/config.hpp>

#include <string>

#include "check.hpp"

using namespace penstock;
using namespace fuzz;

namespace {
constexpr std::string_view sizes[] = {"hidden_size",
                                      "intermediate_size",
                                      "vocab_size",
                                      "num_hidden_layers",
                                      "num_attention_heads",
                                      "num_key_value_heads",
                                      "head_dim",
                                      "kv_lora_rank",
                                      "q_lora_rank",
                                      "n_routed_experts",
                                      "moe_intermediate_size",
                                      "n_shared_experts",
                                      "num_nextn_predict_layers"};
constexpr std::string_view keys[] = {"hidden_size",
                                     "num_hidden_layers",
                                     "num_key_value_heads",
                                     "head_dim",
                                     "tie_word_embeddings",
                                     "attention_bias",
                                     "layers_with_mtp",
                                     "shared_intermediate_size",
                                     "router_has_bias",
                                     "eos_token_id",
                                     "architectures",
                                     "model_type",
                                     "torch_dtype",
                                     "rope_theta",
                                     "vision_config.patch_size",
                                     "text_config",
                                     "a.b.c",
                                     ".",
                                     ""};

void check_answers(model_config const& c, std::string_view key) {
  auto const number = c.number(key);
  auto const required = c.required(key);
  check(required.has_value() == number.has_value() && (!number || *required == *number),
        "number and required say the same");
  if (!required) check(!required.error().message().empty(), "an error has a message");
  auto const text = c.text(key);
  auto const texts = c.texts(key);
  check(!text || (!number && texts.size() == 1 && texts[0] == *text), "a text is a list of one");
  auto const numbers = c.numbers(key);
  check(numbers.empty() || texts.empty(), "a list is of numbers or of texts");
  check(numbers.size() != 1 || !number || numbers[0] == *number, "a number is a list of one");
  static_cast<void>(c.real(key));
}

void check_quantization(model_config const& c) {
  auto const* q = c.quantization();
  if (!q) return;
  check(!q->method.empty() && !q->where.empty(), "a quantisation has a method and a place");
  check(q->scope.empty() || q->scope == c.text_config(), "a quantisation is of the model or of its text model");
  check(q->weight_block_size.empty() || q->weight_block_size.size() == 2, "blocks have rows and columns");
  for (auto const* key : {"bits", "group_size", "weight_block_size.0", "weight_block_size.1", "x"})
    if (auto const n = q->number(key)) check(*n > 0 && *n <= u64{1} << 30, "a size of a quantisation is in its range");
  auto const text = to_string(*q);
  check(!has_control_character(text) && text.size() < 1000, "a quantisation can be shown");
}
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(u8 const* data, std::size_t size) {
  auto const json = text_of(data, size);
  auto c = model_config::parse(bytes_of(json));
  if (!c) {
    check_message(c.error());
    return 0;
  }
  for (auto const key : sizes) {
    if (auto const n = c->number(key)) check(*n <= ~u32{}, "sizes are bounded");
    for (u64 const n : c->numbers(key)) check(n <= ~u32{}, "sizes of layers are bounded");
  }
  for (auto const key : keys) check_answers(*c, key);
  check(has(json, "\\") || has(json, c->architecture()), "the architecture stands in the file");
  check(has(json, "\\") || has(json, c->model_type()), "the type stands in the file");
  check_quantization(*c);

  auto const entries = c->entries();
  check(entries.size() <= size, "there are no more values than text for them");
  for (auto const& [path, value] : entries) {
    if (entries.size() < 100) check_answers(*c, path);
    check(!has_control_character(value), "a value can be shown");
  }
  auto const spaced = model_config::parse(bytes_of(" \n" + std::string{json} + "\t "));
  check(spaced && spaced->fingerprint() == c->fingerprint(), "spaces do not count");
  auto const before = c->fingerprint();
  if (auto const added = c->add_quantization(bytes_of(json)); added) check_quantization(*c);
  else check_message(added.error()), check(c->fingerprint() == before, "what is refused changes nothing");
  return 0;
}
