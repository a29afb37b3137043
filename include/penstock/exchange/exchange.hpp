#pragma once
#include <concepts>

#include <penstock/core/config.hpp>

PENSTOCK_BEGIN
/// How the ranks of one model share what they read.
///
///   needs_communicator   true: bytes go from rank to rank, so an executor has to be given a way between them
///
/// `exchange::independent` is the one that shares nothing.
template <class X>
concept exchange_policy = requires {
  { X::needs_communicator } -> std::convertible_to<bool>;
};
PENSTOCK_END
