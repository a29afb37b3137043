#pragma once
#include <memory>
#include <mutex>
#include <string>

#include <penstock/core/result.hpp>
#include <penstock/core/separate.hpp>
#include <penstock/net/aws_credentials.hpp>
#include <penstock/net/http_request.hpp>
#include <penstock/storage/s3_location.hpp>

PENSTOCK_BEGIN
namespace storage {
/// What can be said about how S3 is reached. Empty: not said; then the environment and the profile are asked.
struct s3_settings {
  net::aws_identity identity{};
  std::string region{};         ///< AWS_REGION, AWS_DEFAULT_REGION, the profile's
  std::string endpoint{};       ///< AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, the profile's; may have a path
  std::string addressing{};     ///< `path`, `virtual`, or `auto`: path where an endpoint was said
  bool requester_pays = false;  ///< AWS_REQUEST_PAYER=requester
  bool dual_stack = false;      ///< AWS_USE_DUALSTACK_ENDPOINT
};

/// Signs requests to one bucket, and learns from refusals: the region, the clock of the store, and that keys expired.
///
/// @threads any
class s3_authorizer final : public net::authorizer {
 public:
  /// @param keys  null: anonymous
  s3_authorizer(std::shared_ptr<net::aws_credentials> keys, std::string region, bool requester_pays)
      : keys_(std::move(keys)), requester_pays_(requester_pays), region_(std::move(region)) {}

  /// @errors as `aws_credentials::get`
  /// @blocks while keys are asked for
  result<void> authorize(net::http_request& request) override;
  bool renew(net::refusal const& r) override;
  [[nodiscard]] std::string explain() const override;
  [[nodiscard]] std::string region() const;

 private:
  std::shared_ptr<net::aws_credentials> keys_;
  bool requester_pays_;
  mutable std::mutex guard_;  ///< over what follows
  std::string region_;
  std::chrono::system_clock::duration ahead_{};  ///< of the store's clock before ours
};

/// How requests reach a bucket and are authorised.
struct s3_access {
  std::string bucket_url;  ///< without final slash; a key comes after it and a slash
  std::string region;
  bool discover = false;  ///< the region is a guess, and the host depends on it: see `region_of_bucket`
  std::shared_ptr<s3_authorizer> signer;
};

/// Chooses endpoint, addressing, region and credentials.
///
/// @errors access: as net::find_aws_credentials; usage: a region, an endpoint or an addressing that cannot be
/// @source AWS SDKs and Tools Reference Guide; Amazon S3, "Virtual hosting of general purpose buckets"
result<s3_access> resolve_s3(s3_location const& where, s3_settings const& said, net::surroundings const& machine,
                             net::http_options const& http);

/// The host of a bucket in a region, as a URL without final slash.
std::string s3_bucket_url(s3_location const& where, std::string const& region, bool dual_stack, bool virtual_host);
}  // namespace storage
PENSTOCK_END

#ifndef PENSTOCK_SEPARATE_COMPILATION
#  include <penstock/storage/s3_access.ipp>
#endif
