#pragma once
#include <functional>
#include <string_view>

#include <penstock/core/bytes.hpp>

PENSTOCK_BEGIN
/// How far a load is. `total` is known before the first call and never changes; `done` never falls and ends at `total`.
struct progress {
  bytes done;
  bytes total;
};

/// What a load tells while it runs. Both are called on the load's threads, one at a time; they must not throw.
struct observer {
  std::function<void(progress const&)> on_progress{};
  std::function<void(std::string_view)> on_notice{};  ///< e.g. "1 tensor ignored"

  void notice(std::string_view text) const {
    if (on_notice) on_notice(text);
  }
};
PENSTOCK_END
