#pragma once
#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include <penstock/core/separate.hpp>
#include <penstock/net/http_request.hpp>
#include <penstock/net/secret.hpp>

PENSTOCK_BEGIN
namespace net {
/// One set of keys. Never changed once it is there, so that a request is not signed with halves of two.
struct aws_keys {
  std::string access_key{};
  secret secret_key{};
  secret token{};  ///< of a session; empty for keys that last
  std::optional<std::chrono::system_clock::time_point> expiry{};
  std::string source{};  ///< where they are from, for messages: `AWS_ACCESS_KEY_ID`
};

/// For whom a signature is valid.
struct aws_scope {
  std::string region;
  std::string service = "s3";
};

/// SHA-256 in lower-case hexadecimal.
std::string sha256_hex(std::string_view bytes);

/// What Signature Version 4 signs of a request: method, path as it is on the wire, sorted query, the headers host, range,
/// if-match and x-amz-*, and the hash of the body that `x-amz-content-sha256` gives, or else that of the body itself.
///
/// @source AWS, "Create a signed AWS API request"; the path is encoded once and not normalised, as S3 wants it
std::string aws_canonical_request(http_request const& request);

/// Adds `x-amz-date`, `x-amz-security-token` where there is one, and `Authorization`.
void sign_aws(http_request& request, aws_keys const& keys, aws_scope const& scope,
              std::chrono::system_clock::time_point now);

/// `20130524T000000Z`.
std::string aws_date(std::chrono::system_clock::time_point t);
/// `2013-05-24T00:00:00Z`, also with a fraction of a second or an offset such as +01:00. @returns nothing for another text
std::optional<std::chrono::system_clock::time_point> parse_timestamp(std::string_view text);
}  // namespace net
PENSTOCK_END

#ifndef PENSTOCK_SEPARATE_COMPILATION
#  include <penstock/net/sign_aws.ipp>
#endif
