#include "text.hpp"

#include <re2/re2.h>

#include <cstddef>

namespace generate {
namespace {
unsigned byte_at(std::string_view text, std::size_t i) { return static_cast<unsigned char>(text[i]); }

/// One character, or the longest start of one that can be made of the bytes at `at`.
struct sequence {
  std::size_t bytes;
  bool valid;
};

sequence sequence_at(std::string_view text, std::size_t at) {
  auto const lead = byte_at(text, at);
  if (lead < 0x80) return {1, true};
  std::size_t const length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4) return {1, false};
  // The second byte has narrower bounds where a lead byte could begin an overlong form, a surrogate or too large a
  // number.
  auto low = lead == 0xE0 ? 0xA0u : lead == 0xF0 ? 0x90u : 0x80u;
  auto high = lead == 0xED ? 0x9Fu : lead == 0xF4 ? 0x8Fu : 0xBFu;
  for (std::size_t i = 1; i < length; ++i, low = 0x80u, high = 0xBFu)
    if (at + i == text.size() || byte_at(text, at + i) < low || byte_at(text, at + i) > high) return {i, false};
  return {length, true};
}

/// The first group is a word or a run of signs, the second a run of white space.
RE2 const& piece_pattern() {
  // RE2's own \s is ASCII only
  static std::string const space{
      R"(\x{9}-\x{d}\x{20}\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})"};
  static RE2 const pattern{R"(('(?:s|t|re|ve|m|ll|d)| ?\p{L}+| ?\p{N}+| ?[^\p{L}\p{N})" + space + "]+)|([" + space +
                           "]+)"};
  return pattern;
}

RE2 const& digit_pattern() {
  static RE2 const pattern{R"(\p{N})"};
  return pattern;
}

std::size_t last_character_bytes(std::string_view text) {
  std::size_t bytes = 1;
  while ((byte_at(text, text.size() - bytes) & 0xC0u) == 0x80u) ++bytes;
  return bytes;
}

void cut_words(std::string_view text, std::vector<std::string_view>& out) {
  re2::StringPiece const whole{text.data(), text.size()};
  for (std::size_t at = 0; at < text.size();) {
    re2::StringPiece found[3];
    auto bytes = text.size() - at;  // every character is in one of the classes, so the pattern always matches
    if (piece_pattern().Match(whole, at, text.size(), RE2::ANCHOR_START, found, 3)) bytes = found[0].size();
    // The look-ahead that RE2 lacks: white space before a word leaves its last character to the word.
    auto const piece = text.substr(at, bytes);
    if (found[2].data() != nullptr && at + bytes < text.size() && last_character_bytes(piece) < bytes)
      bytes -= last_character_bytes(piece);
    out.push_back(text.substr(at, bytes));
    at += bytes;
  }
}
}  // namespace

std::string valid_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    auto const next = sequence_at(text, at);
    out += next.valid ? text.substr(at, next.bytes) : std::string_view{"\xEF\xBF\xBD"};
    at += next.bytes;
  }
  return out;
}

std::vector<std::string_view> pieces_of(std::string_view text, bool each_digit_alone) {
  std::vector<std::string_view> out;
  std::size_t begin = 0;
  re2::StringPiece const whole{text.data(), text.size()};
  re2::StringPiece digit;
  while (each_digit_alone && digit_pattern().Match(whole, begin, text.size(), RE2::UNANCHORED, &digit, 1)) {
    auto const at = static_cast<std::size_t>(digit.data() - text.data());
    cut_words(text.substr(begin, at - begin), out);
    out.push_back(text.substr(at, digit.size()));
    begin = at + digit.size();
  }
  cut_words(text.substr(begin), out);
  return out;
}
}  // namespace generate
