#pragma once
#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <penstock/device/host.hpp>

namespace support {
using namespace penstock;

/// A device whose copies are done later by another thread: in order within a stream, in any order between streams. For
/// tests.
class fake_async {
  enum : u32 { marked = 1, finished = 2, broken = 3 };
  using flag = std::shared_ptr<std::atomic<u32>>;

 public:
  using staging = device::host_pages;
  template <memory M>
  static constexpr bool writes = M::space == memory_space::host;
  static constexpr u32 never = ~u32{0};

  struct event {
    flag state = std::make_shared<std::atomic<u32>>(finished);
    result<bool> done() {
      u32 const now = state->load(std::memory_order_acquire);
      if (now == broken) return error{error_kind::io, "a fake copy failed"};
      return now == finished;
    }
    result<void> wait() {
      while (state->load(std::memory_order_acquire) == marked) state->wait(marked);
      if (state->load() == broken) return error{error_kind::io, "a fake copy failed"};
      return {};
    }
  };
  struct stream {
    fake_async* device;
    std::size_t number;
    result<void> copy(std::span<copy_op const> ops) {
      return device->push(number, {{ops.begin(), ops.end()}, {}}), result<void>{};
    }
    result<void> mark(event& e) {
      e.state->store(marked);
      return device->push(number, {{}, e.state}), result<void>{};
    }
  };

  /// @param fail_at  the number of the copy from which marks report a failure
  fake_async(u32 seed, u32 delay_us, u32 fail_at = never)
      : random_(seed | 1), delay_us_(delay_us), fail_at_(fail_at), thread_([this] { run(); }) {}
  ~fake_async() {
    {
      std::lock_guard const lock(m_);
      ending_ = true;
    }
    more_.notify_one();
    thread_.join();
  }

  result<staging> stage(penstock::bytes n) { return device::host_pages::allocate(n); }
  result<stream> open_stream() {
    std::lock_guard const lock(m_);
    queues_.emplace_back();
    return stream{this, queues_.size() - 1};
  }
  bool reaches(std::byte const*) const { return reaches_; }
  result<void> bind() { return {}; }

  /// Lets the host write parameters itself.
  void reach() { reaches_ = true; }
  /// Copies that were not done yet.
  std::size_t pending() {
    std::lock_guard const lock(m_);
    std::size_t n = busy_;
    for (auto const& q : queues_) n += q.size();
    return n;
  }

 private:
  struct work {
    std::vector<copy_op> ops;
    flag mark;
  };
  void push(std::size_t number, work w) {
    {
      std::lock_guard const lock(m_);
      queues_[number].push_back(std::move(w));
    }
    more_.notify_one();
  }
  u32 random() {
    random_ ^= random_ << 13;
    random_ ^= random_ >> 17;
    return random_ ^= random_ << 5;
  }
  void run() {
    std::unique_lock lock(m_);
    for (;;) {
      std::vector<std::size_t> some;
      for (std::size_t i = 0; i < queues_.size(); ++i)
        if (!queues_[i].empty()) some.push_back(i);
      if (some.empty()) {
        if (ending_) return;
        more_.wait(lock);
        continue;
      }
      auto& q = queues_[some[random() % some.size()]];
      work w = std::move(q.front());
      q.pop_front();
      busy_ = !w.ops.empty();
      lock.unlock();
      if (delay_us_)
        if (u32 const us = random() % (2 * delay_us_); us > 1)
          std::this_thread::sleep_for(std::chrono::microseconds(us));
      (void)device::host::stream{}.copy(w.ops);
      done_ += !w.ops.empty();
      if (w.mark) {
        w.mark->store(done_ >= fail_at_ ? broken : finished, std::memory_order_release);
        w.mark->notify_all();
      }
      lock.lock();
      busy_ = 0;
    }
  }

  std::mutex m_;
  std::condition_variable more_;
  std::deque<std::deque<work>> queues_;
  u32 random_, delay_us_, fail_at_, done_ = 0;
  std::size_t busy_ = 0;
  bool ending_ = false, reaches_ = false;
  std::thread thread_;
};
static_assert(device_backend<fake_async>);
}  // namespace support
