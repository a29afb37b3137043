#pragma once
#include <penstock/quant/none.hpp>

PENSTOCK_BEGIN
namespace quant {
/// Several schemes in one checkpoint, or one chosen when the config has been read. `none` is always among them.
template <class... Schemes>
struct any_of {};
}  // namespace quant
PENSTOCK_END
