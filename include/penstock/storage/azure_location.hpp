#pragma once
#include <string>
#include <string_view>

#include <penstock/core/result.hpp>
#include <penstock/core/separate.hpp>
#include <penstock/core/uri.hpp>

PENSTOCK_BEGIN
namespace storage {
/// What a URI says of a place in Azure Blob Storage; what it leaves open comes from options and environment.
struct azure_location {
  std::string account{};   ///< empty: not in the URI
  std::string endpoint{};  ///< `https://host[:port][/base]`; empty: not in the URI
  bool exact = false;      ///< the URI is an http(s) URL: its endpoint holds, whatever is configured
  std::string container{};
  std::string path{};  ///< the key's text as it is, without a final slash
  std::string sas{};   ///< from the query of a URL: a credential

  /// What the names of all objects below begin with: `path/`, or nothing at the top of the container.
  [[nodiscard]] std::string prefix() const { return path.empty() ? std::string() : path + "/"; }
};

/// The forms of Azure's URIs:
///
///     az://CONTAINER/PATH                                       also azure://, abfs://, abfss://, wasb://, wasbs://
///     az://CONTAINER@ACCOUNT.blob.core.windows.net/PATH         .dfs. is read as .blob.
///     az://ACCOUNT.blob.core.windows.net/CONTAINER/PATH
///     https://ACCOUNT.blob.core.windows.net/CONTAINER/PATH[?SAS]
///     http://127.0.0.1:10000/ACCOUNT/CONTAINER/PATH[?SAS]       also localhost and other addresses
///
/// The text of a key is meant literally, except in http(s) URLs, where it is percent-encoded.
/// @errors usage: another scheme, or a part that cannot be a name of Azure's
result<azure_location> locate_azure(uri const& where);

/// Does `locate_azure` know this form?
bool is_azure(uri const& where);

/// Can this be the name of an account? 3 to 24 lower-case letters and digits.
bool is_azure_account(std::string_view text) noexcept;
/// The account of a host such as `ACCOUNT.blob.core.windows.net`; empty for any other host.
std::string account_of_host(std::string_view host);
}  // namespace storage
PENSTOCK_END

#ifndef PENSTOCK_SEPARATE_COMPILATION
#  include <penstock/storage/azure_location.ipp>
#endif
