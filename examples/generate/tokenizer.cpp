#include "tokenizer.hpp"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <stdexcept>
#include <unordered_map>

#include "text.hpp"

namespace generate {
namespace {
using simdjson::dom::element;

/// Byte-level BPE writes each byte as one printable character: the printable ones of Latin-1 as themselves, the others,
/// in order, as U+0100 and up.
///
/// @source GPT-2, bytes_to_unicode
struct byte_alphabet {
  std::array<std::string, 256> character;
  std::unordered_map<std::string_view, std::uint8_t> byte;

  byte_alphabet() {
    unsigned next = 0x100;
    for (unsigned b = 0; b < 256; ++b) {
      bool const printable = (b >= 0x21 && b <= 0x7E) || (b >= 0xA1 && b != 0xAD);
      auto const code = printable ? b : next++;
      if (code >= 0x80) character[b] += static_cast<char>(0xC0 | (code >> 6));
      character[b] += static_cast<char>(code >= 0x80 ? 0x80 | (code & 0x3F) : code);
      byte.emplace(character[b], static_cast<std::uint8_t>(b));
    }
  }
  byte_alphabet(byte_alphabet const&) = delete;  // `byte` looks into `character`
  byte_alphabet& operator=(byte_alphabet const&) = delete;

  /// The bytes of a token; a text that is not written in the alphabet, as some special tokens are, stands for itself.
  [[nodiscard]] std::string bytes_of(std::string_view token) const {
    std::string out;
    for (std::size_t at = 0; at < token.size();) {
      std::size_t const length = static_cast<unsigned char>(token[at]) < 0x80 ? 1 : 2;
      auto const found = byte.find(token.substr(at, length));
      if (found == byte.end()) return std::string{token};
      out += static_cast<char>(found->second);
      at += length;
    }
    return out;
  }
};

[[noreturn]] void refuse(std::string const& what) { throw std::runtime_error{"tokenizer.json: " + what}; }

std::string text_of(element object, std::string_view key) {
  std::string_view value;
  return object[key].get(value) == simdjson::SUCCESS ? std::string{value} : std::string{};
}

bool flag(element object, std::string_view key, bool otherwise) {
  bool value = otherwise;
  return object[key].get(value) == simdjson::SUCCESS ? value : otherwise;
}

bool absent(element object, std::string_view key) {
  element value;
  return object[key].get(value) != simdjson::SUCCESS || value.is_null();
}

simdjson::dom::array array_of(element object, std::string_view key) { return object[key].get_array().value(); }

token_id id_of(element value) { return static_cast<token_id>(value.get_uint64().value()); }

/// Whether the pre-tokenizer cuts digits apart; refuses what is not [Digits,] ByteLevel.
bool reads_digits_alone(element pre_tokenizer) {
  std::vector<element> steps;
  if (text_of(pre_tokenizer, "type") == "Sequence") {
    for (auto const step : array_of(pre_tokenizer, "pretokenizers")) steps.push_back(step);
  } else {
    steps.push_back(pre_tokenizer);
  }
  bool digits = false;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    auto const type = text_of(steps[i], "type");
    bool const last = i + 1 == steps.size();
    if (type == "Digits" && !last && flag(steps[i], "individual_digits", false)) digits = true;
    else if (type != "ByteLevel" || !last || flag(steps[i], "add_prefix_space", true) ||
             !flag(steps[i], "use_regex", true))
      refuse("expected the pre-tokenizers Digits (individual) and ByteLevel, found " + (type.empty() ? "none" : type));
  }
  return digits;
}

void check_supported(element file, element model) {
  auto const type = text_of(model, "type");
  if (type != "BPE") refuse("expected a model of type BPE, found " + type);
  if (text_of(file["decoder"], "type") != "ByteLevel") refuse("expected the decoder ByteLevel");
  if (!absent(file, "normalizer")) refuse("expected no normalizer, found " + text_of(file["normalizer"], "type"));
  for (auto const* key : {"unk_token", "dropout"})
    if (!absent(model, key)) refuse(std::string{"expected no "} + key);
  for (auto const* key : {"continuing_subword_prefix", "end_of_word_suffix"})
    if (!text_of(model, key).empty()) refuse(std::string{"expected no "} + key);
  for (auto const* key : {"byte_fallback", "ignore_merges"})
    if (flag(model, key, false)) refuse(std::string{"expected no "} + key);
}
}  // namespace

tokenizer::tokenizer(std::filesystem::path const& tokenizer_json) try {
  simdjson::dom::parser parser;
  element const file = parser.load(tokenizer_json.string());
  element const model = file["model"];
  check_supported(file, model);
  each_digit_alone_ = reads_digits_alone(file["pre_tokenizer"]);

  static byte_alphabet const alphabet;
  std::unordered_map<std::string_view, token_id> ids;
  auto const entry_of = [&](token_id id) -> entry& {
    if (id > 10'000'000) refuse("a token has the id " + std::to_string(id));
    if (id >= entries_.size()) entries_.resize(id + 1);
    return entries_[id];
  };
  simdjson::dom::object const vocabulary = model["vocab"];
  for (auto const [token, id] : vocabulary) {
    ids.emplace(token, id_of(id));
    entry_of(id_of(id)).bytes = alphabet.bytes_of(token);
  }
  auto const id_named = [&](std::string const& token) {
    auto const found = ids.find(token);
    if (found == ids.end()) refuse("the vocabulary lacks '" + token + "', which a merge names");
    return found->second;
  };
  for (unsigned b = 0; b < 256; ++b)
    if (auto const found = ids.find(alphabet.character[b]); found != ids.end())
      pairs_.add_byte(static_cast<std::uint8_t>(b), found->second);
  for (auto const merge : array_of(model, "merges")) {  // "a b", or ["a", "b"] in newer files
    std::string left, right;
    if (std::string_view both; merge.get(both) == simdjson::SUCCESS) {
      auto const space = both.find(' ');
      if (space == both.npos) refuse("the merge '" + std::string{both} + "' is no pair");
      left = both.substr(0, space);
      right = both.substr(space + 1);
    } else {
      left = merge.at(0).get_string().value();
      right = merge.at(1).get_string().value();
    }
    pairs_.add_merge(id_named(left), id_named(right), id_named(left + right));
  }

  for (auto const token : array_of(file, "added_tokens")) {
    auto const text = text_of(token, "content");
    if (text.empty()) refuse("an added token has no content");
    for (auto const* key : {"single_word", "lstrip", "rstrip"})
      if (flag(token, key, false)) refuse("the added token '" + text + "' has " + key + ", which this engine lacks");
    auto const id = id_of(token["id"]);
    entry_of(id) = {alphabet.bytes_of(text), flag(token, "special", false)};
    added_.push_back({text, id});
  }
  std::stable_sort(added_.begin(), added_.end(),
                   [](added_token const& a, added_token const& b) { return a.text.size() > b.text.size(); });
} catch (simdjson::simdjson_error const& e) { throw std::runtime_error{tokenizer_json.string() + ": " + e.what()}; }

tokenizer::added_token const* tokenizer::added_at(std::string_view text, std::size_t at) const {
  for (auto const& token : added_)
    if (text.substr(at, token.text.size()) == token.text) return &token;
  return nullptr;
}

std::vector<token_id> tokenizer::encode(std::string_view text) const {
  auto const valid = valid_utf8(text);
  std::string_view const whole{valid};
  std::vector<token_id> out;
  auto const encode_plain = [&](std::size_t begin, std::size_t end) {
    for (auto const piece : pieces_of(whole.substr(begin, end - begin), each_digit_alone_)) pairs_.encode(piece, out);
  };
  std::size_t begin = 0;
  for (std::size_t at = 0; at < whole.size();) {
    auto const* const token = added_at(whole, at);
    if (token == nullptr) {
      ++at;
      continue;
    }
    encode_plain(begin, at);
    out.push_back(token->id);
    begin = at += token->text.size();
  }
  encode_plain(begin, whole.size());
  return out;
}

std::string tokenizer::decode(std::span<token_id const> ids, bool with_special) const {
  std::string bytes;
  for (auto const id : ids)
    if (id < entries_.size() && (with_special || !entries_[id].special)) bytes += entries_[id].bytes;
  return valid_utf8(bytes);
}
}  // namespace generate
