#pragma once
#include <charconv>
#include <span>
#include <string>
#include <string_view>

#include <penstock/core/bytes.hpp>

PENSTOCK_BEGIN
namespace detail {
/// Appends `s` as a JSON string. Bytes that are no UTF-8 are passed on as they are. @source RFC 8259, section 7
inline void append_json_string(std::string& to, std::string_view s) {
  constexpr char digits[] = "0123456789abcdef";
  to += '"';
  for (char c : s) {
    auto const u = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') to += '\\', to += c;
    else if (u < 0x20) to += "\\u00", to += digits[u >> 4], to += digits[u & 15];
    else to += c;
  }
  to += '"';
}

/// Writes one JSON object, member by member; it is closed when the writer ends.
class json_object {
 public:
  explicit json_object(std::string& to) : to_(to) { to_ += '{'; }
  ~json_object() { to_ += '}'; }
  json_object(json_object const&) = delete;
  json_object& operator=(json_object const&) = delete;

  /// Begins the member `name`; its value is what is appended next.
  std::string& key(std::string_view name) {
    if (!first_) to_ += ',';
    first_ = false;
    append_json_string(to_, name);
    return to_ += ':';
  }
  void add(std::string_view name, u64 n) { key(name) += std::to_string(n); }
  void add(std::string_view name, u32 n) { add(name, u64{n}); }
  void add(std::string_view name, bytes n) { add(name, n.count); }
  void add(std::string_view name, std::string_view text) { append_json_string(key(name), text); }
  void add(std::string_view name, char const* text) { add(name, std::string_view{text}); }
  void add(std::string_view name, std::span<u64 const> list) {
    key(name) += '[';
    for (std::size_t i = 0; i < list.size(); ++i) to_ += (i ? "," : "") + std::to_string(list[i]);
    to_ += ']';
  }
  void add(std::string_view name, double seconds) {
    char text[64];
    auto const end = std::to_chars(text, text + sizeof text, seconds, std::chars_format::fixed, 6);
    key(name).append(text, end.ptr);
  }

 private:
  std::string& to_;
  bool first_ = true;
};
}  // namespace detail
PENSTOCK_END
