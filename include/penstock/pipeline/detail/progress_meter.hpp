#pragma once
#include <algorithm>
#include <atomic>
#include <mutex>

#include <penstock/core/progress.hpp>

PENSTOCK_BEGIN
namespace detail {
/// Tells an observer how far a load is: first 0, then now and then, last the total. @threads any
class progress_meter {
 public:
  static constexpr u64 most_calls = 250;

  progress_meter(observer const& to, bytes total)
      : to_(to), total_(total), step_(std::max<u64>(1, (total.count + most_calls - 1) / most_calls)) {}

  void begin() const {
    if (to_.on_progress) to_.on_progress({bytes{}, total_});
  }
  /// `n` more bytes have landed.
  void add(u64 n) {
    if (!to_.on_progress || !n) return;
    u64 const before = done_.fetch_add(n, std::memory_order_relaxed), now = before + n;
    if (before / step_ == now / step_ && now != total_.count) return;
    std::lock_guard const lock(m_);
    u64 const latest = done_.load(std::memory_order_relaxed);
    if (latest <= told_) return;
    told_ = latest;
    to_.on_progress({bytes{latest}, total_});
  }

 private:
  observer const& to_;
  bytes const total_;
  u64 const step_;
  std::atomic<u64> done_{0};
  std::mutex m_;
  u64 told_ = 0;
};
}  // namespace detail
PENSTOCK_END
