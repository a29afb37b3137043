#pragma once
#include <atomic>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <utility>

#include <penstock/core/error.hpp>
#include <penstock/pipeline/detail/point.hpp>

PENSTOCK_BEGIN
namespace detail {
/// How lanes of one load hear of each other: an epoch that moves with all news, and the first failure.
///
/// A lane reads the epoch first, then looks at whatever others change; if it finds nothing to do it sleeps until the epoch
/// is not the one it read. News moves the epoch under the mutex under which sleepers compare it, so none is lost. A lane
/// that waits inside its storage instead sets its bell, then compares the epoch; news moves the epoch, then rings bells
/// that are set. @threads any
class news_board {
 public:
  explicit news_board(u32 lanes) : bells_(new bell[lanes]), lanes_(lanes) {}

  /// Before the first thread: `wake` ends a wait inside the storage of lane `i`.
  template <class ReadLane>
  void connect(u32 i, ReadLane& io) {
    bells_[i].lane = &io;
    bells_[i].wake = [](void* l) noexcept { static_cast<ReadLane*>(l)->wake(); };
  }

  [[nodiscard]] u32 epoch() const noexcept { return epoch_.load(); }
  [[nodiscard]] bool failed() const noexcept { return failed_.load(std::memory_order_acquire); }

  /// Something changed that a lane may wait for.
  void news() {
    {
      std::lock_guard const lock(m_);
      epoch_.fetch_add(1);
    }
    moved_.notify_all();
    PENSTOCK_POINT();
    for (u32 i = 0; i < lanes_; ++i)
      if (bells_[i].set.exchange(false)) bells_[i].ring();
  }

  /// The load is over; the first reason is kept, and every lane is woken.
  void fail(error why, std::exception_ptr thrown = {}) {
    {
      std::lock_guard const lock(m_);
      if (!failed_.load()) {
        why_ = std::move(why);
        thrown_ = std::move(thrown);
        failed_.store(true);
        epoch_.fetch_add(1);
      }
    }
    moved_.notify_all();
    for (u32 i = 0; i < lanes_; ++i) bells_[i].ring();
  }

  /// @blocks until the epoch is another one than `seen`
  void sleep(u32 seen) {
    std::unique_lock lock(m_);
    moved_.wait(lock, [&] { return epoch_.load() != seen; });
  }
  /// News is to end the next wait of lane `i` inside its storage. Compare the epoch afterwards.
  void set_bell(u32 i) { bells_[i].set.store(true); }
  [[nodiscard]] bool bell_is_set(u32 i) const { return bells_[i].set.load(); }

  // After all lanes have ended.
  [[nodiscard]] error& why() noexcept { return why_; }
  [[nodiscard]] std::exception_ptr const& thrown() const noexcept { return thrown_; }

 private:
  struct bell {
    std::atomic<bool> set{false};
    void* lane = nullptr;
    void (*wake)(void*) noexcept = nullptr;
    void ring() const noexcept {
      if (wake) wake(lane);
    }
  };
  std::atomic<u32> epoch_{0};
  std::atomic<bool> failed_{false};
  std::mutex m_;
  std::condition_variable moved_;
  error why_{error_kind::cancelled, ""};
  std::exception_ptr thrown_{};
  std::unique_ptr<bell[]> bells_;
  u32 lanes_;
};
}  // namespace detail
PENSTOCK_END
