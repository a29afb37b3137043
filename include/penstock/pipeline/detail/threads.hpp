#pragma once
#include <pthread.h>

#include <vector>

#include <penstock/core/bytes.hpp>

PENSTOCK_BEGIN
namespace detail {
/// Threads that are joined before this object is gone. Failing to start one is a value, not an exception.
class thread_group {
 public:
  explicit thread_group(u32 most) { handles_.reserve(most); }
  thread_group(thread_group const&) = delete;
  thread_group& operator=(thread_group const&) = delete;
  ~thread_group() { join(); }

  /// Starts a thread that calls `work()`, which must not throw and must outlive the join.
  /// @returns 0, or the error number of the system
  template <class Work>
  [[nodiscard]] int start(Work& work) {
    pthread_t handle;
    auto const body = [](void* w) -> void* {
      (*static_cast<Work*>(w))();
      return nullptr;
    };
    int const failed = ::pthread_create(&handle, nullptr, body, &work);
    if (!failed) handles_.push_back(handle);
    return failed;
  }
  /// @blocks until all of them have ended
  void join() noexcept {
    for (auto handle : handles_) ::pthread_join(handle, nullptr);
    handles_.clear();
  }

 private:
  std::vector<pthread_t> handles_;
};
}  // namespace detail
PENSTOCK_END
