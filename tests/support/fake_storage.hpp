#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include <penstock/storage/backend.hpp>

namespace support {
using namespace penstock;

/// Objects in memory whose bytes arrive late, in any order, or not at all. For tests.
struct fake_storage {
  struct object {
    std::vector<std::byte> content;
    penstock::bytes size() const { return penstock::bytes{content.size()}; }
    std::string version() const { return std::to_string(content.size()); }
  };

  u32 seed = 1;
  u32 delay_us = 0;             ///< on average, of a read
  u32 fail_one_in = 0;          ///< 0: no read fails
  penstock::bytes transport{};  ///< that each lane says it has
  std::atomic<int> outstanding{0};
  std::atomic<u64> reads{0};

  /// Reads of one thread, each due at its own time.
  class lane {
   public:
    lane(fake_storage& s, u32 seed, unsigned depth) : storage_(s), random_(seed), depth_(depth) {}
    ~lane() {
      if (!queue_.empty()) std::abort();  // a read outlived its load
    }
    unsigned depth() const { return depth_; }
    void submit(read_request<object> const& r) {
      auto const late = storage_.delay_us ? random_() % (2 * storage_.delay_us) : 0;
      queue_.push_back({r, clock::now() + std::chrono::microseconds(late)});
      ++storage_.outstanding, ++storage_.reads;
    }
    std::size_t wait(std::span<completion> out, std::chrono::microseconds most) {
      auto const until = clock::now() + most;
      for (;;) {
        std::size_t n = 0;
        auto next = until;
        for (std::size_t i = 0; i < queue_.size();) {
          if (queue_[i].due > clock::now() || n == out.size()) {
            next = std::min(next, queue_[i++].due);
            continue;
          }
          out[n++] = {queue_[i].request.tag, static_cast<u32>(random_() % 2), deliver(queue_[i].request)};
          queue_[i] = queue_.back();
          queue_.pop_back();
          --storage_.outstanding;
        }
        std::unique_lock lock(m_);
        if (n || woken_ || clock::now() >= until) {
          woken_ = false;
          return n;
        }
        wake_.wait_until(lock, next, [&] { return woken_; });
      }
    }
    void wake() noexcept {
      {
        std::lock_guard const lock(m_);
        woken_ = true;
      }
      wake_.notify_one();
    }
    void cancel() noexcept {
      storage_.outstanding -= static_cast<int>(queue_.size());
      queue_.clear();
    }
    penstock::bytes transport_bytes() const { return storage_.transport; }

   private:
    using clock = std::chrono::steady_clock;
    struct pending {
      read_request<object> request;
      clock::time_point due;
    };
    std::unique_ptr<error> deliver(read_request<object> const& r) {
      if (storage_.fail_one_in && random_() % storage_.fail_one_in == 0)
        return std::make_unique<error>(error_kind::transient, "a fake read failed");
      auto const* from = r.from->content.data() + r.range.first.count;
      u64 n = 0;
      for (auto const& place : r.to) {
        if (place.bytes) std::memcpy(place.to, from + n, place.bytes);
        n += place.bytes;
      }
      if (n != r.range.size.count) std::abort();  // the list does not add up to the range
      return nullptr;
    }

    fake_storage& storage_;
    std::minstd_rand random_;
    unsigned depth_;
    std::vector<pending> queue_;
    std::mutex m_;
    std::condition_variable wake_;
    bool woken_ = false;
  };

  result<std::vector<object>> pin(uri const&, std::span<std::string const>) { return std::vector<object>{}; }
  result<std::vector<stored_object>> list(uri const&) { return std::vector<stored_object>{}; }
  result<std::unique_ptr<lane>> open_lane(std::span<object const>, unsigned i, unsigned depth) {
    return std::make_unique<lane>(*this, seed * 31 + i, depth);
  }
};
static_assert(storage_backend<fake_storage>);
}  // namespace support
