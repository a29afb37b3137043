#pragma once
#include <span>
#include <string_view>

/// A public model whose sizes are known.
struct preset {
  std::string_view name;    ///< as on the command line
  std::string_view title;   ///< as people call it
  std::string_view config;  ///< its config.json
};

/// All of them.
std::span<preset const> presets() noexcept;
/// By name, or the smallest one of an architecture. @returns null where there is none
preset const* preset_named(std::string_view name) noexcept;
