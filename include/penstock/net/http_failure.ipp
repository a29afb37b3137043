#pragma once
#include <penstock/net/http_failure.hpp>
#include <penstock/net/text.hpp>

PENSTOCK_BEGIN
namespace net {
namespace detail {
inline std::string identifier(std::string_view text) {
  std::string out;
  for (char c : text.substr(0, 64))
    if (letter_or_digit(c)) out += c;
  return out;
}

inline std::string_view advice(error_kind kind, int status, std::string_view code, std::string_view explain) noexcept {
  auto const has = [](std::string_view text, std::string_view part) { return text.find(part) != text.npos; };
  if (has(code, "PermanentRedirect") || has(code, "TemporaryRedirect"))
    return "the bucket is in another region: set AWS_REGION to it";
  if (status >= 300 && status < 400) return "redirects are not followed: give the address it points to";
  switch (kind) {
    case error_kind::not_found:
      if (has(code, "ContainerNotFound")) return "check the name of the container and whose account it is in";
      if (has(code, "NoSuchBucket")) return "check the name of the bucket, and whether it may be listed";
      return code.empty() ? "check the address" : "check the container or bucket, and the path";
    case error_kind::access:
      if (has(explain, "expired")) return "make a new SAS";
      if (has(code, "Expired")) return "the credentials have expired: renew them and load again";
      if (has(explain, "not valid before")) return "wait, or make a new SAS; check this machine's clock";
      if (has(explain, "without credentials")) return "only a public container answers without: give credentials";
      if (has(code, "SignatureDoesNotMatch")) return "check the secret key, and that it belongs to the access key";
      if (has(code, "InvalidAccessKeyId")) return "the store does not know this access key: check it, and the endpoint";
      if (has(code, "AccessDenied"))
        return "ask for permission to read and list; without the one to list, a key that is not there is denied as well";
      if (has(code, "InvalidObjectState")) return "the object is archived: restore it first";
      if (has(code, "TimeTooSkewed")) return "set this machine's clock";
      if (has(code, "PermissionMismatch"))
        return "a SAS needs the permissions r (read) and l (list), an identity the role Storage Blob Data Reader";
      return "check the credentials, their permissions and this machine's clock";
    case error_kind::changed: return "the object was overwritten since it was first seen: load again";
    case error_kind::format: return "the range must exist: the object is shorter than its header says";
    default: return "check the address and the state of the object";
  }
}
}  // namespace detail

PENSTOCK_INLINE std::string store_code(response_head const& head, std::string_view body) {
  if (auto const code = head.get("x-ms-error-code")) return detail::identifier(*code);
  auto const begin = body.find("<Code>");
  auto const end = body.find("</Code>");
  if (begin == body.npos || end == body.npos || end < begin) return {};
  return detail::identifier(body.substr(begin + 6, end - begin - 6));
}

PENSTOCK_INLINE std::string request_id_of(response_head const& head) {
  std::string out;
  for (char const* name : {"x-ms-request-id", "x-amz-request-id"})
    if (auto const id = head.get(name)) {
      for (char c : id->substr(0, 80))
        if (detail::letter_or_digit(c) || c == '-') out += c;
      break;
    }
  return out;
}

PENSTOCK_INLINE error_kind kind_of(int status, std::string_view code) noexcept {
  for (std::string_view part :
       {"Authentication", "Authorization", "NotPermitted", "Expired", "InvalidToken", "TokenRefreshRequired"})
    if (code.find(part) != code.npos) return error_kind::access;
  switch (status) {
    case 401:
    case 403:
    case 407: return error_kind::access;
    case 404:
    case 410: return error_kind::not_found;
    case 412: return error_kind::changed;
    case 416: return error_kind::format;
    default: return error_kind::io;
  }
}

PENSTOCK_INLINE error refused(response_head const& head, std::string_view body, std::string_view shown,
                              std::optional<bytes> expected, std::string_view explain) {
  int const status = head.status();
  auto const code = store_code(head, body);
  auto kind = kind_of(status, code);
  std::string found = "found status " + std::to_string(status) + (code.empty() ? "" : " " + code);
  if (auto const value = head.get("content-range"); status == 416 && value && expected)
    if (auto const range = parse_content_range(*value); range && range->total && *range->total != *expected) {
      kind = error_kind::changed;
      found += ", and a size of " + std::to_string(range->total->count) + " bytes instead of " +
               std::to_string(expected->count);
    }
  if (kind == error_kind::access && !explain.empty()) found += " (" + std::string(explain) + ")";
  error e{kind, std::string(shown) + ": expected a good answer, " + found + "; " +
                    std::string(detail::advice(kind, status, code, explain))};
  e.where().uri = shown;
  e.where().attempts = 1;
  e.where().http_status = status;
  e.where().store_code = code;
  e.where().request_id = request_id_of(head);
  return e;
}
}  // namespace net
PENSTOCK_END
