#pragma once
#include <vector>

#include <penstock/core/index.hpp>
#include <penstock/core/read.hpp>
#include <penstock/pipeline/trace.hpp>

PENSTOCK_BEGIN
namespace detail {
/// One read on its way, and the memory that it passes through unless it is direct.
template <class Device>
struct slot {
  slot_state state = slot_state::free;
  bool direct = false;  ///< the bytes go straight into parameters: `at` is not used
  u32 read = 0;         ///< into plan.reads
  u64 order = 0;        ///< grows with each filling: finds the oldest
  std::byte* at = nullptr;
  typename Device::event done{};  ///< of the copies out of it
  std::vector<scatter> to{};      ///< of the read; kept, so that no read allocates once this is warm
};
}  // namespace detail
PENSTOCK_END
