#pragma once
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <penstock/core/result.hpp>
#include <penstock/core/separate.hpp>

PENSTOCK_BEGIN
namespace net {
/// What the machine says: variables and files. A test gives its own.
struct surroundings {
  /// As `std::getenv`.
  std::function<char const*(char const*)> variable;
  /// The content of a file; nothing where it cannot be read.
  std::function<std::optional<std::string>(std::string const&)> file;

  /// Those of this process.
  static surroundings of_this_process();
  /// Of a machine that says nothing.
  static surroundings nothing();
  /// The first of the variables that is set and not empty.
  [[nodiscard]] std::string first(std::initializer_list<char const*> names) const;
  [[nodiscard]] bool says_yes(char const* name) const;
};

/// The profiles of the AWS tools, from both of their files.
class aws_profiles {
 public:
  /// Keys in lower case; a nested one as `s3.addressing_style`.
  using section = std::map<std::string, std::string>;

  /// Reads `~/.aws/config` (AWS_CONFIG_FILE) and `~/.aws/credentials` (AWS_SHARED_CREDENTIALS_FILE).
  /// A file that cannot be read counts as absent.
  ///
  /// @errors access: a line that is neither a section nor `key = value`; names file and line, never the content
  static result<aws_profiles> read(surroundings const& machine);

  /// The merged keys of a profile: those of the credentials file win. Null: there is none of that name.
  [[nodiscard]] section const* find(std::string const& profile) const;
  /// Does the credentials file hold this key of the profile?
  [[nodiscard]] bool in_credentials_file(std::string const& profile, std::string const& key) const;
  /// `[services NAME]`.
  [[nodiscard]] section const* services(std::string const& name) const;
  /// The files that were looked for, for messages.
  [[nodiscard]] std::string const& files() const noexcept { return files_; }

 private:
  std::map<std::string, section> merged_, credentials_, services_;
  std::string files_;
};

/// The profile to use: AWS_PROFILE, AWS_DEFAULT_PROFILE, `default`.
std::string aws_profile_name(surroundings const& machine);
}  // namespace net
PENSTOCK_END

#ifndef PENSTOCK_SEPARATE_COMPILATION
#  include <penstock/net/aws_profile.ipp>
#endif
