#pragma once
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string_view>

#include <penstock/core/error.hpp>

// What the fuzz targets share. A property that does not hold ends the run, as a memory error does.
namespace fuzz {
inline void check(bool holds, std::string_view what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %.*s\n", static_cast<int>(what.size()), what.data());
  std::abort();
}

inline std::string_view text_of(unsigned char const* data, std::size_t size) {
  return {reinterpret_cast<char const*>(data), size};
}
inline std::span<std::byte const> bytes_of(std::string_view text) { return std::as_bytes(std::span{text}); }

inline bool has(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }
inline bool has_control_character(std::string_view text) {
  for (char const c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return true;
  return false;
}

/// A message says something, is of a length that a person reads, and cannot steer a terminal.
inline void check_message(penstock::error const& e, std::size_t most = 4000) {
  check(!e.message().empty(), "an error has a message");
  check(e.message().size() <= most, "a message has a bounded length");
  check(!has_control_character(e.message()), "a message has no control characters");
}
}  // namespace fuzz
