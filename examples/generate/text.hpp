#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace generate {
/// The text with every fault of its UTF-8 replaced by U+FFFD, one for each longest broken start of a character.
///
/// @source The Unicode Standard, section 3.9, "U+FFFD Substitution of Maximal Subparts"
std::string valid_utf8(std::string_view text);

/// Cuts a text into the pieces within which byte pairs may be merged: words with the space before them, runs of
/// signs, runs of white space, and "'s", "'ll" and their like.
///
/// @param text              valid UTF-8; the pieces are views of it and cover it
/// @param each_digit_alone  whether each character of the class N is a piece of its own, cut out before all else
/// @source GPT-2's pattern: '(s|t|re|ve|m|ll|d) | ?\p{L}+ | ?\p{N}+ | ?[^\s\p{L}\p{N}]+ | \s+(?!\S) | \s+
std::vector<std::string_view> pieces_of(std::string_view text, bool each_digit_alone);
}  // namespace generate
