#pragma once
#include <functional>
#include <memory>
#include <string>

#include <penstock/core/result.hpp>
#include <penstock/core/separate.hpp>
#include <penstock/net/sign_azure.hpp>
#include <penstock/storage/azure_location.hpp>

PENSTOCK_BEGIN
namespace storage {
/// What can be said about an account, by options or by the environment. Empty: not said.
struct azure_settings {
  std::string connection_string{};  ///< AZURE_STORAGE_CONNECTION_STRING
  std::string account{};            ///< AZURE_STORAGE_ACCOUNT_NAME
  std::string key{};                ///< AZURE_STORAGE_ACCOUNT_KEY, _ACCESS_KEY or _KEY: base64
  std::string sas{};                ///< AZURE_STORAGE_SAS_TOKEN, with or without `?`
  std::string token{};              ///< AZURE_STORAGE_TOKEN: a bearer token, for https only
  std::string endpoint{};           ///< AZURE_STORAGE_ENDPOINT, may have a path
  bool anonymous = false;           ///< AZURE_STORAGE_ANON: ask without credentials
};

/// The settings in an environment, e.g. `std::getenv`.
azure_settings azure_environment(std::function<char const*(char const*)> const& get);

/// The parts of a connection string; `UseDevelopmentStorage=true` stands for the emulator's well-known account.
struct azure_connection {
  std::string account{}, key{}, sas{}, endpoint{};
};
/// @errors access: a part without `=`; a protocol other than http and https. Values are not repeated.
result<azure_connection> parse_connection_string(std::string_view text);

/// Where requests go and how they are authorised.
struct azure_access {
  std::string account;
  std::string endpoint;  ///< without final slash
  std::shared_ptr<net::azure_authorizer> signer;
};

/// Chooses account, endpoint and credential.
///
/// The account of the URI wins. Credentials in this order: options (connection string, key, SAS, token, anonymous),
/// the SAS of the URI, the environment (in the same order). Nothing is asked anonymously unless that was said, and
/// what the environment holds goes to the configured endpoint, to Azure's hosts and to this machine only.
/// @errors access: no account, or no credential: the message lists what was tried; or a key that is no base64
result<azure_access> resolve_azure(azure_location const& where, azure_settings const& options,
                                   azure_settings const& environment);
}  // namespace storage
PENSTOCK_END

#ifndef PENSTOCK_SEPARATE_COMPILATION
#  include <penstock/storage/azure_access.ipp>
#endif
