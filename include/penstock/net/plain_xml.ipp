#pragma once
#include <charconv>
#include <pugixml.hpp>

#include <penstock/net/plain_xml.hpp>

PENSTOCK_BEGIN
namespace net {
namespace detail {
/// Length of the UTF-8 sequence at the front, 0 where there is none or a NUL.
inline std::size_t utf8_length(std::string_view s) noexcept {
  auto const at = [&](std::size_t i) { return static_cast<unsigned char>(s[i]); };
  auto const tail = [&](std::size_t i) { return i < s.size() && (at(i) & 0xc0) == 0x80; };
  unsigned const c = at(0);
  if (c < 0x80) return c ? 1 : 0;
  if (c >= 0xc2 && c <= 0xdf) return tail(1) ? 2 : 0;
  if (c >= 0xe0 && c <= 0xef) {
    if (!tail(1) || !tail(2) || (c == 0xe0 && at(1) < 0xa0) || (c == 0xed && at(1) > 0x9f)) return 0;
    return 3;
  }
  if (c >= 0xf0 && c <= 0xf4) {
    if (!tail(1) || !tail(2) || !tail(3) || (c == 0xf0 && at(1) < 0x90) || (c == 0xf4 && at(1) > 0x8f)) return 0;
    return 4;
  }
  return 0;
}

inline bool is_utf8(std::string_view s) noexcept {
  while (!s.empty()) {
    auto const n = utf8_length(s);
    if (!n) return false;
    s.remove_prefix(n);
  }
  return true;
}

/// `&#65;`, `&#x41;` without `&` and `;`: a character that text may have?
inline bool is_character_reference(std::string_view s) noexcept {
  s.remove_prefix(1);
  int const base = s.starts_with('x') ? 16 : 10;
  if (base == 16) s.remove_prefix(1);
  unsigned long code = 0;
  auto const [end, problem] = std::from_chars(s.data(), s.data() + s.size(), code, base);
  return problem == std::errc() && end == s.data() + s.size() && code > 0 && code <= 0x10ffff &&
         !(code >= 0xd800 && code <= 0xdfff);
}

inline bool is_entity(std::string_view s) noexcept {
  for (std::string_view known : {"lt", "gt", "amp", "quot", "apos"})
    if (s == known) return true;
  return s.size() > 1 && s.front() == '#' && is_character_reference(s);
}

struct depth_limit final : pugi::xml_tree_walker {
  bool for_each(pugi::xml_node&) override { return depth() < 16; }
};
}  // namespace detail

PENSTOCK_INLINE bool is_plain_xml(std::string_view xml) noexcept {
  while (!xml.empty()) {
    if (xml.starts_with("<![CDATA[") || xml.starts_with("<!--")) {
      std::string_view const close = xml[2] == '[' ? "]]>" : "-->";
      auto const end = xml.find(close, 4);
      if (end == xml.npos || !detail::is_utf8(xml.substr(0, end))) return false;
      xml.remove_prefix(end + close.size());
      continue;
    }
    if (xml.starts_with("<!")) return false;
    if (xml.front() == '&') {
      auto const end = xml.substr(0, 12).find(';');
      if (end == xml.npos || !detail::is_entity(xml.substr(1, end - 1))) return false;
    }
    auto const n = detail::utf8_length(xml);
    if (!n) return false;
    xml.remove_prefix(n);
  }
  return true;
}

namespace detail {
/// Reads `xml` as a plain document. @returns what it is instead; null: it is one
inline char const* read_plain_xml(pugi::xml_document& document, std::string_view xml) {
  if (!is_plain_xml(xml)) return "bytes that are no plain XML";
  constexpr unsigned how =
      (pugi::parse_default | pugi::parse_doctype | pugi::parse_ws_pcdata_single) & ~pugi::parse_eol;
  if (auto const parsed = document.load_buffer(xml.data(), xml.size(), how, pugi::encoding_utf8); !parsed)
    return parsed.description();
  depth_limit limit;
  return document.traverse(limit) ? nullptr : "elements nested deeper than 16";
}
}  // namespace detail
}  // namespace net
PENSTOCK_END
