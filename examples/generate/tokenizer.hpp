#pragma once
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bpe.hpp"

namespace generate {
/// Text to token ids and back, by the `tokenizer.json` of a byte-level BPE model (GPT-2's kind, as in SmolLM2).
///
/// No special token is put before or behind a text; those that stand in it are recognised.
class tokenizer {
 public:
  /// Reads the file.
  ///
  /// @errors std::runtime_error: the file cannot be read, or asks for what this engine does not have
  explicit tokenizer(std::filesystem::path const& tokenizer_json);

  /// The ids of a text. Faults of its UTF-8 count as U+FFFD.
  [[nodiscard]] std::vector<token_id> encode(std::string_view text) const;

  /// The text of ids, always valid UTF-8. Ids that the model does not know are left out.
  ///
  /// @param with_special  whether special tokens are shown
  [[nodiscard]] std::string decode(std::span<token_id const> ids, bool with_special = true) const;

 private:
  struct entry {
    std::string bytes;  // what the token stands for
    bool special = false;
  };
  struct added_token {
    std::string text;
    token_id id;
  };
  [[nodiscard]] added_token const* added_at(std::string_view text, std::size_t at) const;

  byte_pairs pairs_;
  std::vector<entry> entries_;      // by id
  std::vector<added_token> added_;  // longest first
  bool each_digit_alone_ = false;
};
}  // namespace generate
