#pragma once
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <vector>

#include <penstock/net/sign_aws.hpp>
#include <penstock/net/text.hpp>
#include <penstock/net/url.hpp>

PENSTOCK_BEGIN
namespace net {
namespace detail {
inline std::string hexadecimal(std::string_view bytes) {
  constexpr char digits[] = "0123456789abcdef";
  std::string out;
  out.reserve(2 * bytes.size());
  for (char c : bytes) {
    auto const b = static_cast<unsigned char>(c);
    out += {digits[b >> 4], digits[b & 15]};
  }
  return out;
}

inline std::string hmac_sha256(std::string_view key, std::string_view text) {
  unsigned char mac[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), reinterpret_cast<unsigned char const*>(text.data()),
       text.size(), mac, &size);
  return {reinterpret_cast<char const*>(mac), size};
}

/// Is the header signed? Only what no proxy rewrites.
inline bool is_signed_by_aws(std::string_view name) noexcept {
  return name == "host" || name == "range" || name == "if-match" || name == "content-type" ||
         name.starts_with("x-amz-");
}

/// The host of a URL as a `Host` header names it: with its port unless that is the scheme's own.
inline std::string host_header(std::string_view url) {
  auto const begin = url.find("://") + 3;
  auto host = std::string(url.substr(begin, url.find_first_of("/?", begin) - begin));
  std::string_view const own = url.starts_with("https:") ? ":443" : ":80";
  if (host.ends_with(own)) host.resize(host.size() - own.size());
  return lower(host);
}

/// The headers that are signed: name in lower case and value, blanks trimmed and made one; sorted, names once.
inline std::vector<std::pair<std::string, std::string>> signed_headers(http_request const& r) {
  std::vector<std::pair<std::string, std::string>> all{{"host", host_header(r.url)}}, joined;
  for (auto const& h : r.headers)
    if (auto name = lower(h.name); is_signed_by_aws(name) && name != "host")
      all.emplace_back(std::move(name), one_spaced(h.value));
  std::stable_sort(all.begin(), all.end(), [](auto const& a, auto const& b) { return a.first < b.first; });
  for (auto& [name, value] : all)
    if (!joined.empty() && joined.back().first == name) joined.back().second += "," + value;
    else joined.emplace_back(std::move(name), std::move(value));
  return joined;
}

inline std::string names_of(std::vector<std::pair<std::string, std::string>> const& headers) {
  std::string names;
  for (auto const& h : headers) names += (names.empty() ? "" : ";") + h.first;
  return names;
}

/// Parameters sorted by name and value, encoded as they are on the wire; one without a value gets its `=`.
inline std::string sorted_query(std::string_view query) {
  std::vector<std::pair<std::string, std::string>> all;
  while (!query.empty()) {
    auto const one = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), one.size() + 1));
    if (one.empty()) continue;
    auto const equals = std::min(one.find('='), one.size());
    all.emplace_back(one.substr(0, equals), one.substr(std::min(equals + 1, one.size())));
  }
  std::sort(all.begin(), all.end());
  std::string out;
  for (auto const& [name, value] : all) ((out += out.empty() ? "" : "&") += name) += "=" + value;
  return out;
}
}  // namespace detail

PENSTOCK_INLINE std::string sha256_hex(std::string_view bytes) {
  unsigned char hash[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  EVP_Digest(bytes.data(), bytes.size(), hash, &size, EVP_sha256(), nullptr);
  return detail::hexadecimal({reinterpret_cast<char const*>(hash), size});
}

PENSTOCK_INLINE std::string aws_canonical_request(http_request const& r) {
  auto const target = detail::path_and_query(r.url);
  auto const path = without_query(target);
  auto const headers = detail::signed_headers(r);
  std::string text = r.method + "\n" + (path.empty() ? "/" : std::string(path)) + "\n";
  if (path.size() < target.size()) text += detail::sorted_query(target.substr(path.size() + 1));
  text += "\n";
  for (auto const& [name, value] : headers) text += name + ":" + value + "\n";
  text += "\n" + detail::names_of(headers) + "\n";
  auto const stated = r.get("x-amz-content-sha256");
  return text += stated.empty() ? sha256_hex(r.body) : std::string(stated);
}

PENSTOCK_INLINE std::string aws_date(std::chrono::system_clock::time_point t) {
  time_t const at = std::chrono::system_clock::to_time_t(t);
  std::tm p{};
  gmtime_r(&at, &p);
  char text[32];
  std::strftime(text, sizeof text, "%Y%m%dT%H%M%SZ", &p);
  return text;
}

PENSTOCK_INLINE std::optional<std::chrono::system_clock::time_point> parse_timestamp(std::string_view text) {
  // YYYY-MM-DDTHH:MM:SS
  constexpr std::string_view form = "dddd-dd-ddTdd:dd:dd";
  if (text.size() < form.size() + 1) return std::nullopt;
  for (std::size_t i = 0; i < form.size(); ++i)
    if (form[i] == 'd' ? text[i] < '0' || text[i] > '9' : text[i] != form[i] && !(form[i] == 'T' && text[i] == ' '))
      return std::nullopt;
  auto const field = [&](std::size_t at, std::size_t n) {
    return static_cast<int>(*detail::number(text.substr(at, n)));
  };
  std::tm p{};
  p.tm_year = field(0, 4) - 1900, p.tm_mon = field(5, 2) - 1, p.tm_mday = field(8, 2);
  p.tm_hour = field(11, 2), p.tm_min = field(14, 2), p.tm_sec = field(17, 2);
  if (p.tm_mon < 0 || p.tm_mon > 11 || p.tm_mday < 1 || p.tm_mday > 31 || p.tm_hour > 23 || p.tm_min > 59 ||
      p.tm_sec > 60)
    return std::nullopt;
  auto rest = text.substr(form.size());
  if (rest.starts_with('.')) rest = rest.substr(std::min(rest.find_first_not_of("0123456789", 1), rest.size()));
  int offset = 0;  // minutes
  if (rest.size() == 6 && (rest[0] == '+' || rest[0] == '-') && rest[3] == ':') {
    auto const hours = detail::number(rest.substr(1, 2)), minutes = detail::number(rest.substr(4, 2));
    if (!hours || !minutes || *hours > 23 || *minutes > 59) return std::nullopt;
    offset = static_cast<int>(*hours * 60 + *minutes) * (rest[0] == '-' ? -1 : 1);
  } else if (rest != "Z") {
    return std::nullopt;
  }
  return std::chrono::system_clock::from_time_t(timegm(&p)) - std::chrono::minutes(offset);
}

PENSTOCK_INLINE void sign_aws(http_request& r, aws_keys const& keys, aws_scope const& scope,
                              std::chrono::system_clock::time_point now) {
  auto const date = aws_date(now);
  auto const day = date.substr(0, 8);
  r.headers.push_back({"x-amz-date", date});
  if (auto const token = keys.token.reveal(); !token.empty())
    r.headers.push_back({"x-amz-security-token", std::string(token)});
  auto const credential = day + "/" + scope.region + "/" + scope.service + "/aws4_request";
  auto const text = "AWS4-HMAC-SHA256\n" + date + "\n" + credential + "\n" + sha256_hex(aws_canonical_request(r));
  std::string key = "AWS4" + std::string(keys.secret_key.reveal());
  for (std::string_view part : {std::string_view(day), std::string_view(scope.region), std::string_view(scope.service),
                                std::string_view("aws4_request")})
    key = detail::hmac_sha256(key, part);
  r.headers.push_back({"Authorization", "AWS4-HMAC-SHA256 Credential=" + keys.access_key + "/" + credential +
                                            ", SignedHeaders=" + detail::names_of(detail::signed_headers(r)) +
                                            ", Signature=" + detail::hexadecimal(detail::hmac_sha256(key, text))});
}
}  // namespace net
PENSTOCK_END
