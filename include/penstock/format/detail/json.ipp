#pragma once
#include <simdjson.h>

#include <span>
#include <string>
#include <string_view>

#include <penstock/core/result.hpp>
#include <penstock/core/separate.hpp>
#include <penstock/format/detail/message.hpp>

PENSTOCK_BEGIN
namespace detail {
/// What is wrong with a text that is no JSON.
PENSTOCK_INLINE std::string_view reason(simdjson::error_code code) {
  switch (code) {
    case simdjson::UTF8_ERROR: return "bytes that are not UTF-8";
    case simdjson::NUMBER_ERROR: return "a number that is badly written or does not fit 64 bits";
    case simdjson::DEPTH_ERROR: return "more than 1024 levels of brackets";
    case simdjson::STRING_ERROR: return "a wrong escape in a string, such as half of a surrogate pair";
    case simdjson::UNESCAPED_CHARS: return "a control character inside a string";
    case simdjson::UNCLOSED_STRING: return "a string without end";
    case simdjson::T_ATOM_ERROR:
    case simdjson::F_ATOM_ERROR:
    case simdjson::N_ATOM_ERROR: return "a word other than true, false and null";
    default: return "brackets, commas or colons out of place, or something after the object";
  }
}

/// What a value is, in the words of the JSON standard.
PENSTOCK_INLINE std::string_view kind_of(simdjson::dom::element value) {
  switch (value.type()) {
    case simdjson::dom::element_type::ARRAY: return "an array";
    case simdjson::dom::element_type::OBJECT: return "an object";
    case simdjson::dom::element_type::INT64: return "an integer";
    case simdjson::dom::element_type::UINT64: return "an integer";
    case simdjson::dom::element_type::DOUBLE: return "a number with fraction or exponent";
    case simdjson::dom::element_type::STRING: return "a string";
    case simdjson::dom::element_type::NULL_VALUE: return "null";
    default: return "a boolean";  // its enumerator is a macro elsewhere
  }
}

/// Members of an object. (The parser's own count stops at 2^24 - 1.)
PENSTOCK_INLINE u64 members_of(simdjson::dom::object const& object) {
  u64 n = object.size();
  if (n < 0xffffff) return n;
  n = 0;
  for (auto const member : object) static_cast<void>(member), ++n;
  return n;
}

/// The whole of `json` as one object; white space may stand around it. What is returned lives as long as `parser`.
///
/// @errors `kind`: not a JSON object; memory: the parser's tables cannot be had (about 10 times the text)
PENSTOCK_INLINE result<simdjson::dom::object> parse_object(simdjson::dom::parser& parser,
                                                           std::span<std::byte const> json, std::string_view file,
                                                           error_kind kind) {
  std::string_view const text{reinterpret_cast<char const*>(json.data()), json.size()};
  auto const wrong = [&](std::string_view found, std::string_view advice = "get the file again") {
    return error{kind, joined(file, ": expected a JSON object, found ", found, "; ", advice)};
  };
  auto const first = text.find_first_not_of(" \t\r\n");
  if (first == text.npos) return wrong("no text");
  if (text.substr(first).starts_with("\xef\xbb\xbf")) return wrong("a byte order mark in front of it");
  if (text[first] != '{')
    return wrong(joined(shown(text.substr(first, 8)), " at byte ", first), advice_on(text.substr(first)));
  simdjson::dom::object object;
  if (auto const code = parser.parse(text.data(), text.size(), true).get(object)) {
    if (code == simdjson::MEMALLOC || code == simdjson::CAPACITY)
      return error{error_kind::memory, joined(file, ": expected memory to parse ", text.size(),
                                              " bytes of JSON, found none; raise the memory limit of the process")};
    return wrong(reason(code));
  }
  return object;
}
}  // namespace detail
PENSTOCK_END
