#pragma once
#include <curl/curl.h>

#include <algorithm>
#include <memory>

#include <penstock/core/percent.hpp>
#include <penstock/core/uri.hpp>
#include <penstock/net/url.hpp>

PENSTOCK_BEGIN
namespace net {
namespace detail {
struct url_deleter {
  void operator()(CURLU* u) const noexcept { curl_url_cleanup(u); }
};
struct text_deleter {
  void operator()(char* p) const noexcept { curl_free(p); }
};

inline std::string url_part(CURLU* u, CURLUPart part, unsigned flags) {
  char* text = nullptr;
  if (curl_url_get(u, part, &text, flags) != CURLUE_OK) return {};
  std::unique_ptr<char, text_deleter> const owner(text);
  return text;
}

inline bool plain_in_url(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
         c == '_' || c == '~';
}

inline std::string encode(std::string_view text, bool slash_too) {
  constexpr char digits[] = "0123456789ABCDEF";
  std::string out;
  out.reserve(text.size() + 8);
  for (char c : text)
    if (plain_in_url(c) || (c == '/' && !slash_too)) {
      out += c;
    } else {
      auto const b = static_cast<unsigned char>(c);
      out += {'%', digits[b >> 4], digits[b & 15]};
    }
  return out;
}
}  // namespace detail

PENSTOCK_INLINE std::string web_url::origin() const {
  std::string text = scheme + "://" + (host.find(':') == host.npos ? host : "[" + host + "]");
  if (port != (scheme == "https" ? "443" : "80")) text += ":" + port;
  return text;
}

PENSTOCK_INLINE result<web_url> split_url(std::string_view text) {
  auto const no = [&](char const* found) {
    return error{error_kind::usage, "expected an http or https URL, found " +
                                        penstock::detail::without_credentials(text) + " (" + found +
                                        "); correct the URL"};
  };
  // libcurl takes one to three slashes, and decodes a host after it has looked whether it is a number.
  auto const colon = std::min(text.find(':'), text.size());
  if (auto const after = text.substr(colon); !after.starts_with("://") || after.starts_with(":///"))
    return no("no two slashes after the scheme");
  auto const authority = text.substr(colon + 3, text.find_first_of("/?#", colon + 3) - colon - 3);
  if (authority.find('%') != authority.npos) return no("a % before its path");
  std::unique_ptr<CURLU, detail::url_deleter> const u(curl_url());
  if (!u) return error{error_kind::memory, "no memory to read a URL"};
  auto const code = curl_url_set(u.get(), CURLUPART_URL, std::string(text).c_str(), CURLU_PATH_AS_IS);
  if (code != CURLUE_OK) return no(curl_url_strerror(code));
  web_url w;
  w.scheme = detail::url_part(u.get(), CURLUPART_SCHEME, 0);
  if (w.scheme != "http" && w.scheme != "https") return no("another scheme");
  if (!detail::url_part(u.get(), CURLUPART_USER, 0).empty() ||
      !detail::url_part(u.get(), CURLUPART_PASSWORD, 0).empty())
    return error{error_kind::usage,
                 "expected a URL without user name and password; give credentials by options or the environment"};
  w.host = detail::url_part(u.get(), CURLUPART_HOST, 0);
  if (w.host.size() > 2 && w.host.front() == '[') w.host = w.host.substr(1, w.host.size() - 2);
  for (char& c : w.host)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  w.port = detail::url_part(u.get(), CURLUPART_PORT, CURLU_DEFAULT_PORT);
  w.path = detail::url_part(u.get(), CURLUPART_PATH, 0);
  w.query = detail::url_part(u.get(), CURLUPART_QUERY, 0);
  if (w.host.empty()) return no("no host");
  if (w.path.empty()) w.path = "/";
  return w;
}

PENSTOCK_INLINE std::string percent_encode(std::string_view key) { return detail::encode(key, false); }
PENSTOCK_INLINE std::string percent_encode_value(std::string_view value) { return detail::encode(value, true); }

PENSTOCK_INLINE result<std::string> percent_decode(std::string_view text) {
  if (auto plain = penstock::detail::decode_percent(text)) return *std::move(plain);
  return error{error_kind::usage, "expected two hexadecimal digits after each % of a URL; write a literal % as %25"};
}
}  // namespace net
PENSTOCK_END
