#pragma once
#include <penstock/core/config.hpp>

PENSTOCK_BEGIN
namespace arch {
/// Several architectures, one of which is chosen when config.json has been read, or by its name.
///
/// It instantiates no second pipeline: what is chosen is a table.
template <class... Archs>
struct any_of {};
}  // namespace arch
PENSTOCK_END
