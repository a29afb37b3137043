#pragma once
#include <penstock/exchange/exchange.hpp>

PENSTOCK_BEGIN
namespace exchange {
/// Each rank reads for itself all that it needs. Ranks never wait for each other.
struct independent {
  static constexpr bool needs_communicator = false;
};
}  // namespace exchange
static_assert(exchange_policy<exchange::independent>);
PENSTOCK_END
