#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace generate {
using token_id = std::uint32_t;

/// Byte pair encoding: joins neighbours in the order of a list of merges, until no pair of neighbours is in the list.
class byte_pairs {
 public:
  /// The token of a single byte. A byte without one is left out of the result.
  void add_byte(std::uint8_t byte, token_id id) { bytes_[byte] = id; }

  /// The next merge of the list: `left` and `right` become `joined`.
  void add_merge(token_id left, token_id right, token_id joined) {
    merges_.try_emplace(key(left, right), merge{static_cast<std::uint32_t>(merges_.size()), joined});
  }

  /// Appends the tokens of one piece of text to `out`.
  ///
  /// @cost n log n for n bytes
  void encode(std::string_view piece, std::vector<token_id>& out) const;

 private:
  struct merge {
    std::uint32_t rank;
    token_id joined;
  };
  static std::uint64_t key(token_id left, token_id right) { return (std::uint64_t{left} << 32) | right; }

  std::array<std::optional<token_id>, 256> bytes_{};
  std::unordered_map<std::uint64_t, merge> merges_;
};
}  // namespace generate
