#pragma once
#include <atomic>
#include <chrono>
#include <string>

#include <penstock/core/separate.hpp>
#include <penstock/net/http_request.hpp>
#include <penstock/net/secret.hpp>

PENSTOCK_BEGIN
namespace net {
/// What Azure's SharedKey scheme signs.
/// @source Azure Storage, "Authorize with Shared Key", Blob service, version 2015-02-21 and later
std::string azure_string_to_sign(http_request const& request, std::string_view account);
/// base64(HMAC-SHA256(key, text)).
std::string azure_signature(secret const& key, std::string_view text);
/// `Fri, 26 Jun 2015 23:39:12 GMT`, in whatever locale the process has.
/// @source RFC 9110, section 5.6.7
std::string http_date(std::chrono::system_clock::time_point t);

/// The version of the Blob service's interface that requests ask for. Azurite refuses versions younger than itself.
inline constexpr std::string_view azure_version = "2023-11-03";

/// How to prove who asks.
enum class azure_proof : u8 { anonymous, shared_key, sas, bearer };

/// Authorises requests to one storage account.
///
/// Beside the proof it adds what each request to the Blob service has: version, date, an id of the attempt, and the
/// range once more as `x-ms-range`, which the service prefers while proxies know `Range` only.
class azure_authorizer final : public authorizer {
 public:
  /// @param value   the decoded key, the SAS without `?`, or the token; empty for anonymous
  /// @param source  where it came from, for messages: `AZURE_STORAGE_ACCOUNT_KEY`
  azure_authorizer(azure_proof proof, std::string account, secret value, std::string source);

  /// @errors usage: a SAS or token with a control character; access: a token for a URL that is not https
  result<void> authorize(http_request& request) override;
  [[nodiscard]] std::string explain() const override;
  [[nodiscard]] azure_proof proof() const noexcept { return proof_; }

 private:
  azure_proof proof_;
  std::string account_, source_;
  secret value_;
  std::string start_, expiry_, permissions_;  ///< of a SAS, as it says itself
  std::atomic<u64> attempts_{0};
  u64 process_part_;  ///< of the ids
};
}  // namespace net
PENSTOCK_END

#ifndef PENSTOCK_SEPARATE_COMPILATION
#  include <penstock/net/sign_azure.ipp>
#endif
