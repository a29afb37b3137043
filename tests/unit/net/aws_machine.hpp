#pragma once
#include <map>
#include <string>

#include <penstock/net/aws_profile.hpp>

/// A machine of a test's own: its variables and its files.
struct aws_machine {
  std::map<std::string, std::string> variables, files;

  /// Lives as long as this machine.
  penstock::net::surroundings surroundings() const {
    return {[this](char const* name) -> char const* {
              auto const it = variables.find(name);
              return it == variables.end() ? nullptr : it->second.c_str();
            },
            [this](std::string const& path) -> std::optional<std::string> {
              auto const it = files.find(path);
              return it == files.end() ? std::nullopt : std::optional(it->second);
            }};
  }
};
