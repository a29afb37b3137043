#pragma once
#include <string>
#include <string_view>

#include <penstock/core/result.hpp>
#include <penstock/core/separate.hpp>

PENSTOCK_BEGIN
namespace net {
/// The parts of an http or https URL, percent-encoded as they stood in the text.
struct web_url {
  std::string scheme;  ///< `http` or `https`
  std::string host;    ///< a name or an address, IPv6 without brackets
  std::string port;    ///< digits, also where the text had none
  std::string path;    ///< begins with `/`
  std::string query;   ///< without `?`; may hold a credential

  /// `scheme://host[:port]`, the port only where it is not the scheme's own.
  [[nodiscard]] std::string origin() const;
};

/// Takes a URL apart, with libcurl's parser: what is checked here is what is connected to.
///
/// @errors usage: no http(s) URL, or one with user information. The message does not repeat the query.
result<web_url> split_url(std::string_view text);

/// A key for the path of a URL: every byte but letters, digits, `-._~` and `/` becomes %XX.
/// @source RFC 3986, section 2.3
std::string percent_encode(std::string_view key);
/// As `percent_encode`, and `/` as well: for the value of a query parameter.
std::string percent_encode_value(std::string_view value);
/// %XX becomes a byte; `+` stays `+`.
/// @errors usage: a `%` that two hexadecimal digits do not follow
result<std::string> percent_decode(std::string_view text);

/// A URL for messages: what follows `?` may be a credential.
inline std::string_view without_query(std::string_view url) noexcept { return url.substr(0, url.find('?')); }

/// Is there a byte inside that would end a header line, or that no header may have?
constexpr bool has_control_character(std::string_view text) noexcept {
  for (char c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return true;
  return false;
}
}  // namespace net
PENSTOCK_END

#ifndef PENSTOCK_SEPARATE_COMPILATION
#  include <penstock/net/url.ipp>
#endif
