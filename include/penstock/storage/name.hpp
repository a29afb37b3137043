#pragma once
#include <string>
#include <string_view>

#include <penstock/core/config.hpp>

PENSTOCK_BEGIN
namespace detail {
/// Why a name from a listing or an index may not be joined to a root; empty where it may.
///
/// Relative, divided by single `/`, no segment `.` or `..`, no backslash, no NUL, at most 255 bytes a segment. So
/// `a/../b` is refused although it stays below the root.
constexpr std::string_view fault_of_name(std::string_view name) noexcept {
  if (name.empty()) return "it is empty";
  if (name.find('\0') != name.npos) return "it holds a NUL";
  if (name.find('\\') != name.npos) return "it holds a backslash";
  if (name.find("://") != name.npos) return "it is a URI";
  if (name.front() == '/') return "it is absolute";
  while (true) {
    auto const end = name.find('/');
    auto const segment = name.substr(0, end);
    if (segment.empty()) return "one of its segments is empty";
    if (segment == "." || segment == "..") return "it has a segment . or ..";
    if (segment.size() > 255) return "one of its segments is longer than 255 bytes";
    if (end == name.npos) return {};
    name.remove_prefix(end + 1);
  }
}

/// A name as a message shows it: control characters escaped, cut after 200 bytes.
inline std::string shown_name(std::string_view name) {
  constexpr std::string_view hex = "0123456789abcdef";
  std::string shown;
  for (char c : name.substr(0, 200)) {
    auto const b = static_cast<unsigned char>(c);
    if (b >= 0x20 && b != 0x7f) shown += c;
    else (shown += "\\x") += {hex[b >> 4], hex[b & 15]};
  }
  return name.size() > 200 ? shown + "..." : shown;
}
}  // namespace detail
PENSTOCK_END
