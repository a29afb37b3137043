#pragma once
#include <string>
#include <string_view>
#include <type_traits>

#include <penstock/core/bytes.hpp>

PENSTOCK_BEGIN
namespace detail {
/// A text from a file as a message may show it: in quotes, control characters escaped, cut after `most` bytes.
inline std::string shown(std::string_view text, std::size_t most = 96) {
  constexpr char digits[] = "0123456789abcdef";
  std::size_t cut = text.size();
  if (cut > most)
    for (cut = most; cut > 0 && (static_cast<u8>(text[cut]) & 0xc0) == 0x80;) --cut;  // between characters
  std::string out = "\"";
  for (std::size_t i = 0; i < cut; ++i) {
    u8 const c = static_cast<u8>(text[i]);
    bool const c1 = c == 0xc2 && i + 1 < cut && static_cast<u8>(text[i + 1]) < 0xa0;  // U+0080 to U+009f
    if (c < 0x20 || c == 0x7f || c1) {
      u8 const code = c1 ? static_cast<u8>(text[++i]) : c;
      out += "\\u00";
      out += digits[code >> 4];
      out += digits[code & 15];
    } else {
      if (c == '"' || c == '\\') out += '\\';
      out += text[i];
    }
  }
  out += '"';
  if (cut < text.size()) out += "... (" + std::to_string(text.size()) + " bytes)";
  return out;
}

inline void append(std::string& to, std::string_view part) { to += part; }
template <class Number, std::enable_if_t<std::is_integral_v<Number>, int> = 0>
void append(std::string& to, Number part) {
  to += std::to_string(part);
}
inline void append(std::string& to, bytes part) { to += std::to_string(part.count); }

/// Texts and numbers, one after the other.
template <class... Parts>
std::string joined(Parts const&... parts) {
  std::string out;
  (append(out, parts), ...);
  return out;
}

/// What to do about a file that is something else by its first bytes.
inline std::string_view advice_on(std::string_view beginning) noexcept {
  if (beginning.starts_with("version ")) return "it is a pointer of git-lfs: fetch the file itself (git lfs pull)";
  if (beginning.starts_with('<')) return "it is a page of a web site: download the file itself";
  return "get the file again";
}

/// "1 byte", "2 bytes".
inline std::string counted(u64 n, std::string_view what) {
  return joined(n, " ", what, n == 1 ? std::string_view{} : std::string_view{"s"});
}
}  // namespace detail
PENSTOCK_END
