#pragma once
#include <string>
#include <string_view>

#include <penstock/core/result.hpp>
#include <penstock/core/separate.hpp>
#include <penstock/core/uri.hpp>

PENSTOCK_BEGIN
namespace storage {
/// What a URI says of a place in S3; what it leaves open comes from options, environment and profile.
struct s3_location {
  std::string bucket{};
  std::string path{};         ///< the key's text as it is, without a final slash
  std::string region{};       ///< empty: not in the URI
  std::string endpoint{};     ///< `https://host[:port]` of an https URI; empty: not in the URI
  bool access_point = false;  ///< the bucket is the name of an access point, and its host is made of it

  /// What the keys of all objects below begin with: `path/`, or nothing at the top of the bucket.
  [[nodiscard]] std::string prefix() const { return path.empty() ? std::string() : path + "/"; }
};

/// The forms of S3's URIs:
///
///     s3://BUCKET/PATH                                   also s3a://, s3n://
///     s3://arn:aws:s3:REGION:ACCOUNT:accesspoint/NAME/PATH
///     https://BUCKET.s3.REGION.amazonaws.com/PATH        also dual-stack, the older forms with a dash, and without region
///     https://s3.REGION.amazonaws.com/BUCKET/PATH        likewise
///     https://ACCOUNT.r2.cloudflarestorage.com/BUCKET/PATH
///
/// The text of a key is meant literally, except in https URLs, where it is percent-encoded.
/// @errors usage: another scheme, or a part that cannot be a name of S3's
result<s3_location> locate_s3(uri const& where);

/// Does `locate_s3` know this form?
bool is_s3(uri const& where);

/// Can the bucket be the first label of a host? Neither dots, which no certificate covers, nor capitals.
bool is_dns_bucket(std::string_view bucket) noexcept;
/// `[a-z0-9-]`, at most 32: what may go into a host.
bool is_aws_region(std::string_view text) noexcept;
}  // namespace storage
PENSTOCK_END

#ifndef PENSTOCK_SEPARATE_COMPILATION
#  include <penstock/storage/s3_location.ipp>
#endif
