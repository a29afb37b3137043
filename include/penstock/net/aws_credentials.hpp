#pragma once
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include <penstock/core/result.hpp>
#include <penstock/core/separate.hpp>
#include <penstock/net/aws_profile.hpp>
#include <penstock/net/http_options.hpp>
#include <penstock/net/sign_aws.hpp>

PENSTOCK_BEGIN
namespace net {
/// Keys that are asked for once and again before they expire, for all threads together.
///
/// From 15 minutes before the end one thread asks, while the others go on with the old keys; in the last 5 minutes all
/// wait for the new ones. A failure is forgiven for as long as the old keys hold.
/// @threads any
class aws_credentials {
 public:
  using clock = std::chrono::system_clock;
  /// Keys and their number: the first are 1, each that were asked for later one more.
  struct numbered {
    std::shared_ptr<aws_keys const> keys;
    u64 number;
  };

  /// Keys that stay.
  explicit aws_credentials(aws_keys keys);
  /// @param ask  blocks; called by one thread at a time
  explicit aws_credentials(std::function<result<aws_keys>()> ask);

  /// @errors what `ask` says; access: keys that had expired when they came
  /// @blocks while keys are asked for
  result<numbered> get(clock::time_point now = clock::now());
  /// The store refused the keys with this number. @returns whether there are, or now came, others
  bool renew(u64 number);
  /// Where the keys are from, for messages.
  [[nodiscard]] std::string source() const;

 private:
  result<void> ask_now(clock::time_point now);

  std::function<result<aws_keys>()> ask_;
  mutable std::mutex present_guard_;  ///< over present_, never held for long
  numbered present_{nullptr, 0};
  std::mutex asking_;               ///< held by who asks; taken before present_guard_
  clock::time_point not_before_{};  ///< after a failure, while the old keys hold; guarded by asking_
};

/// What an engine says itself of who it is. Empty: not said.
struct aws_identity {
  std::string access_key{}, secret_key{}, session_token{};
  std::string profile{};       ///< of the AWS tools' files; chosen here, the environment's keys are not looked at
  bool anonymous = false;      ///< ask without credentials
  bool allow_process = false;  ///< may `credential_process` of a profile start a program?
  std::function<result<aws_keys>()> keys{};  ///< an engine's own source
};

/// Looks for credentials where the AWS tools do, in their order: what was said, environment, a profile's role, web
/// identity, the profile's keys, its credential_process, container, instance metadata (IMDSv2).
///
/// Nothing is asked over the network yet, and nothing falls back to asking anonymously.
/// @param region   of the security token service, where the profile says none
/// @returns null for anonymous
/// @errors access: half of a pair of keys, no such profile, a circle of roles, what is not supported (SSO, MFA)
/// @source AWS SDKs and Tools Reference Guide, "Standardized credential providers"
result<std::shared_ptr<aws_credentials>> find_aws_credentials(aws_identity const& said, surroundings const& machine,
                                                              std::string const& region, http_options const& http);
}  // namespace net
PENSTOCK_END

#ifndef PENSTOCK_SEPARATE_COMPILATION
#  include <penstock/net/aws_credentials.ipp>
#endif
