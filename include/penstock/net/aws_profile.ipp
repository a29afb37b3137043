#pragma once
#include <cstdlib>
#include <fstream>
#include <iterator>

#include <penstock/net/aws_profile.hpp>
#include <penstock/net/text.hpp>

PENSTOCK_BEGIN
namespace net {
namespace detail {
/// Reads one file of the AWS tools; `take(section, key, value)` for each line.
template <class F>
result<void> read_ini(std::string_view text, std::string const& file, F const& take) {
  std::string section, parent;
  for (u32 line = 1; !text.empty(); ++line) {
    auto const whole = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), whole.size() + 1));
    auto const body = trimmed(whole);
    if (body.empty() || body.front() == '#' || body.front() == ';') continue;
    auto const wrong = [&](char const* found) {
      return error{error_kind::access, file + ", line " + std::to_string(line) +
                                           ": expected [section] or key = value, found " + found + "; correct it"};
    };
    if (body.front() == '[') {
      auto const end = body.find(']');
      if (end == body.npos) return wrong("a section without ]");
      section = trimmed(body.substr(1, end - 1));
      parent.clear();
      continue;
    }
    auto const equals = body.find('=');
    if (section.empty()) return wrong("a line before the first section");
    if (equals == body.npos || equals == 0) return wrong("a line without a key or =");
    bool const nested = (whole.front() == ' ' || whole.front() == '\t') && !parent.empty();
    auto const key = lower(trimmed(body.substr(0, equals)));
    auto const value = trimmed(body.substr(equals + 1));
    if (!nested) parent = value.empty() ? key : std::string();
    take(section, nested ? parent + "." + key : key, std::string(value));
  }
  return {};
}

/// `"my profile"` and `'my profile'` without their quotes.
inline std::string unquoted(std::string_view s) {
  s = trimmed(s);
  if (s.size() > 1 && (s.front() == '"' || s.front() == '\'') && s.back() == s.front()) s = s.substr(1, s.size() - 2);
  return std::string(s);
}
}  // namespace detail

PENSTOCK_INLINE surroundings surroundings::of_this_process() {
  return {[](char const* name) -> char const* { return std::getenv(name); },
          [](std::string const& path) -> std::optional<std::string> {
            std::ifstream in(path, std::ios::binary);
            if (!in) return std::nullopt;
            constexpr std::size_t most = 1U << 20;
            std::string text(most, '\0');
            in.read(text.data(), static_cast<std::streamsize>(most));
            if (in.bad()) return std::nullopt;
            text.resize(static_cast<std::size_t>(in.gcount()));
            return text;
          }};
}

PENSTOCK_INLINE surroundings surroundings::nothing() {
  return {[](char const*) -> char const* { return nullptr; },
          [](std::string const&) -> std::optional<std::string> { return std::nullopt; }};
}

PENSTOCK_INLINE std::string surroundings::first(std::initializer_list<char const*> names) const {
  for (char const* name : names)
    if (char const* value = variable(name); value && *value) return value;
  return {};
}

PENSTOCK_INLINE bool surroundings::says_yes(char const* name) const {
  auto const value = detail::lower(first({name}));
  return value == "1" || value == "true" || value == "yes" || value == "on";
}

PENSTOCK_INLINE std::string aws_profile_name(surroundings const& machine) {
  auto name = machine.first({"AWS_PROFILE", "AWS_DEFAULT_PROFILE"});
  return name.empty() ? "default" : name;
}

PENSTOCK_INLINE result<aws_profiles> aws_profiles::read(surroundings const& machine) {
  auto const path = [&](char const* variable, char const* usual) {
    auto p = machine.first({variable});
    auto const home = machine.first({"HOME"});
    if (p.empty()) return home.empty() ? std::string() : home + usual;
    return p.starts_with("~/") ? home + p.substr(1) : p;
  };
  auto const config = path("AWS_CONFIG_FILE", "/.aws/config");
  auto const keys = path("AWS_SHARED_CREDENTIALS_FILE", "/.aws/credentials");
  aws_profiles all;
  all.files_ = config + ", " + keys;
  if (auto const text = config.empty() ? std::nullopt : machine.file(config)) {
    auto done = detail::read_ini(*text, config, [&](std::string const& section, std::string const& key, std::string v) {
      if (section.starts_with("services ")) all.services_[detail::unquoted(section.substr(9))][key] = std::move(v);
      else if (section == "default") all.merged_[section][key] = std::move(v);
      else if (section.starts_with("profile ")) all.merged_[detail::unquoted(section.substr(8))][key] = std::move(v);
    });
    if (!done) return std::move(done).error();
  }
  if (auto const text = keys.empty() ? std::nullopt : machine.file(keys)) {
    auto done = detail::read_ini(*text, keys, [&](std::string const& section, std::string const& key, std::string v) {
      all.merged_[detail::unquoted(section)][key] = all.credentials_[detail::unquoted(section)][key] = std::move(v);
    });
    if (!done) return std::move(done).error();
  }
  return all;
}

PENSTOCK_INLINE aws_profiles::section const* aws_profiles::find(std::string const& profile) const {
  auto const it = merged_.find(profile);
  return it == merged_.end() ? nullptr : &it->second;
}

PENSTOCK_INLINE bool aws_profiles::in_credentials_file(std::string const& profile, std::string const& key) const {
  auto const it = credentials_.find(profile);
  return it != credentials_.end() && it->second.contains(key);
}

PENSTOCK_INLINE aws_profiles::section const* aws_profiles::services(std::string const& name) const {
  auto const it = services_.find(name);
  return it == services_.end() ? nullptr : &it->second;
}
}  // namespace net
PENSTOCK_END
