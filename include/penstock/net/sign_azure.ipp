#pragma once
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <random>

#include <penstock/net/sign_azure.hpp>
#include <penstock/net/text.hpp>
#include <penstock/net/url.hpp>

PENSTOCK_BEGIN
namespace net {
namespace detail {
/// `\nname:value` for each parameter, names in lower case and sorted, values decoded; those of one name joined by commas.
inline std::string canonical_query(std::string_view query) {
  std::vector<std::pair<std::string, std::string>> all;
  while (!query.empty()) {
    auto const one = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), one.size() + 1));
    if (one.empty()) continue;
    auto const equals = one.find('=');
    auto const value = equals == one.npos ? std::string_view() : one.substr(equals + 1);
    auto decoded = percent_decode(value);
    all.emplace_back(lower(one.substr(0, equals)), decoded ? *std::move(decoded) : std::string(value));
  }
  std::sort(all.begin(), all.end());
  std::string out;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (i && all[i].first == all[i - 1].first) out += "," + all[i].second;
    else out += "\n" + all[i].first + ":" + all[i].second;
  return out;
}

inline std::string request_id(u64 process_part, u64 n) {
  char text[40];
  std::snprintf(text, sizeof text, "%08x-%04x-4%03x-8000-%012llx", static_cast<unsigned>(process_part >> 32),
                static_cast<unsigned>(process_part >> 16 & 0xffff), static_cast<unsigned>(process_part & 0xfff),
                static_cast<unsigned long long>(n & 0xffffffffffffULL));
  return text;
}

/// The value of a field such as `se=`, decoded, if it has the characters of a time or of permissions only.
inline std::string sas_field(std::string_view sas, std::string_view field) {
  for (std::size_t at = 0; at < sas.size();) {
    auto const one = sas.substr(at, sas.find('&', at) - at);
    at += one.size() + 1;
    if (!one.starts_with(field)) continue;
    auto const value = percent_decode(one.substr(field.size()));
    if (!value || value->size() > 32) return {};
    for (char c : *value)
      if (!letter_or_digit(c) && c != '-' && c != ':' && c != '.' && c != '+') return {};
    return *value;
  }
  return {};
}
}  // namespace detail

PENSTOCK_INLINE std::string azure_string_to_sign(http_request const& request, std::string_view account) {
  std::string text = request.method + "\n";
  for (char const* name : {"Content-Encoding", "Content-Language", "Content-Length", "Content-MD5", "Content-Type",
                           "Date", "If-Modified-Since", "If-Match", "If-None-Match", "If-Unmodified-Since", "Range"})
    (text += request.get(name)) += '\n';
  std::vector<std::string> own;
  for (auto const& h : request.headers)
    if (auto name = detail::lower(h.name); name.starts_with("x-ms-"))
      own.push_back(std::move(name) + ":" + detail::one_spaced(h.value) + "\n");
  std::sort(own.begin(), own.end());
  for (auto const& line : own) text += line;
  auto const target = detail::path_and_query(request.url);
  auto const path = without_query(target);
  ((text += '/') += account) += path;
  if (path.size() < target.size()) text += detail::canonical_query(target.substr(path.size() + 1));
  return text;
}

PENSTOCK_INLINE std::string azure_signature(secret const& key, std::string_view text) {
  unsigned char mac[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  auto const k = key.reveal();
  HMAC(EVP_sha256(), k.data(), static_cast<int>(k.size()), reinterpret_cast<unsigned char const*>(text.data()),
       text.size(), mac, &size);
  return base64_encode({reinterpret_cast<char const*>(mac), size});
}

PENSTOCK_INLINE std::string http_date(std::chrono::system_clock::time_point t) {
  constexpr char const* days[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  constexpr char const* months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  time_t const at = std::chrono::system_clock::to_time_t(t);
  std::tm p{};
  gmtime_r(&at, &p);
  char text[96];
  std::snprintf(text, sizeof text, "%s, %02d %s %04d %02d:%02d:%02d GMT", days[p.tm_wday], p.tm_mday, months[p.tm_mon],
                p.tm_year + 1900, p.tm_hour, p.tm_min, p.tm_sec);
  return text;
}

PENSTOCK_INLINE azure_authorizer::azure_authorizer(azure_proof proof, std::string account, secret value,
                                                   std::string source)
    : proof_(proof), account_(std::move(account)), source_(std::move(source)), value_(std::move(value)) {
  std::random_device random;
  process_part_ = static_cast<u64>(random()) << 32 | random();
  if (proof_ != azure_proof::sas) return;
  start_ = detail::sas_field(value_.reveal(), "st="), expiry_ = detail::sas_field(value_.reveal(), "se=");
  permissions_ = detail::sas_field(value_.reveal(), "sp=");
}

PENSTOCK_INLINE result<void> azure_authorizer::authorize(http_request& request) {
  if (has_control_character(value_.reveal()) && proof_ != azure_proof::shared_key)
    return error{error_kind::usage, "expected no line break in " + source_ + ", found one; give the value without it"};
  auto& h = request.headers;
  h.push_back({"x-ms-version", std::string(azure_version)});
  h.push_back({"x-ms-date", http_date(std::chrono::system_clock::now())});
  h.push_back({"x-ms-client-request-id", detail::request_id(process_part_, ++attempts_)});
  if (auto range = std::string(request.get("Range")); !range.empty()) h.push_back({"x-ms-range", std::move(range)});
  switch (proof_) {
    case azure_proof::anonymous: break;
    case azure_proof::shared_key:
      h.push_back({"Authorization",
                   "SharedKey " + account_ + ":" + azure_signature(value_, azure_string_to_sign(request, account_))});
      break;
    case azure_proof::sas:
      (request.url += request.url.find('?') == std::string::npos ? '?' : '&') += value_.reveal();
      break;
    case azure_proof::bearer:
      if (!request.url.starts_with("https://"))
        return error{error_kind::access, "expected https for a bearer token (" + source_ +
                                             "), found http; use an https endpoint, a key or a SAS"};
      h.push_back({"Authorization", "Bearer " + std::string(value_.reveal())});
  }
  return {};
}

PENSTOCK_INLINE std::string azure_authorizer::explain() const {
  switch (proof_) {
    case azure_proof::anonymous: return "asked without credentials (" + source_ + ")";
    case azure_proof::shared_key: return "signed with the key of account " + account_ + " from " + source_;
    case azure_proof::bearer: return "with the token from " + source_;
    case azure_proof::sas: break;
  }
  std::string text = "with the SAS from " + source_;
  if (!permissions_.empty()) text += ", which permits " + permissions_;
  // Times of a SAS and of this text have the same form, so that they compare as texts.
  time_t const now = std::time(nullptr);
  std::tm p{};
  gmtime_r(&now, &p);
  char today[32];
  std::strftime(today, sizeof today, "%Y-%m-%dT%H:%M:%SZ", &p);
  if (start_ > today) text += ", SAS not valid before " + start_;
  if (!expiry_.empty()) text += (expiry_ < today ? ", SAS expired at " : ", valid until ") + expiry_;
  return text;
}
}  // namespace net
PENSTOCK_END
