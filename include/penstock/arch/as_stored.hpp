#pragma once
#include <penstock/arch/rules.hpp>

PENSTOCK_BEGIN
namespace arch {
/// Every tensor as it is in the file, under its own name, whole on every rank.
struct as_stored {
  static constexpr std::string_view name = "as_stored";
  static constexpr identity_map map{};
};
}  // namespace arch
PENSTOCK_END
