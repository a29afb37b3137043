#pragma once
#include <optional>
#include <stop_token>

#include <penstock/core/progress.hpp>

PENSTOCK_BEGIN
class readiness;

inline constexpr bytes always_direct{0};       ///< for load_options::direct_above
inline constexpr bytes never_direct{~u64{0}};  ///< for load_options::direct_above

/// How one load is run. What it may use is in `plan.memory`.
struct load_options {
  std::stop_token stop{};    ///< a request ends the load within 100 ms, with a `cancelled` error
  observer watch{};          ///< on_progress counts bytes of `plan.read`, at most some 250 times, the last at the total
  bool serial_sink = true;   ///< callbacks of the sink come one at a time
  bytes direct_above{1024};  ///< mean piece from which a read goes straight to host parameters, past the slots
  readiness* ready = nullptr;  ///< told of each parameter and layer
  std::optional<u32> rank{};   ///< put into errors
};
PENSTOCK_END
