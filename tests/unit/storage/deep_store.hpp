#pragma once
#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <penstock/storage/memory.hpp>

namespace fixture {
/// A store like a remote one: lanes of depth 8 that answer late and last first, and that keep count.
struct deep_store {
  using object = penstock::storage::memory::object;
  static constexpr std::string_view schemes = "deep://";
  static bool takes(penstock::uri const& u) { return u.scheme() == "deep"; }

  struct count {
    std::size_t requests = 0, bytes = 0, most_outstanding = 0, lists = 0, alive = 0;
    std::vector<std::string> pinned;
  };
  class lane {
   public:
    lane(std::unique_ptr<penstock::storage::memory::lane> inner, deep_store* store, unsigned depth)
        : inner_(std::move(inner)), store_(store), depth_(depth) {
      ++store_->seen->alive;
    }
    ~lane() { --store_->seen->alive; }
    unsigned depth() const { return depth_; }
    void submit(penstock::read_request<object> const& r) {
      waiting_.push_back(r);
      store_->seen->requests += 1;
      store_->seen->bytes += static_cast<std::size_t>(r.range.size.count);
      store_->seen->most_outstanding = std::max(store_->seen->most_outstanding, waiting_.size());
    }
    std::size_t wait(std::span<penstock::completion> out, std::chrono::microseconds most) {
      if (waiting_.empty() || store_->stuck) {
        std::this_thread::sleep_for(std::min<std::chrono::microseconds>(most, std::chrono::milliseconds{1}));
        return 0;
      }
      if (store_->before_read) store_->before_read();
      inner_->submit(waiting_.back());
      waiting_.pop_back();
      return inner_->wait(out, most);
    }
    void wake() noexcept {}
    void cancel() noexcept { waiting_.clear(); }
    penstock::bytes transport_bytes() const { return {}; }

   private:
    std::unique_ptr<penstock::storage::memory::lane> inner_;
    deep_store* store_;
    unsigned depth_;
    std::vector<penstock::read_request<object>> waiting_;
  };

  penstock::storage_traits traits() const {
    return {.gap = penstock::kibibytes(256),
            .bandwidth = penstock::gibibytes(1),
            .lanes = 2,
            .depth = 8,
            .transport_per_read = {}};
  }
  auto pin(penstock::uri const& root, std::span<std::string const> names) {
    seen->pinned.insert(seen->pinned.end(), names.begin(), names.end());
    return memory.pin(root, names);
  }
  penstock::result<std::vector<penstock::stored_object>> list(penstock::uri const& root) {
    ++seen->lists;
    if (list_error) return *list_error;
    auto listed = memory.list(root);
    if (listed) listed->insert(listed->end(), more_listed.begin(), more_listed.end());
    return listed;
  }
  penstock::result<std::unique_ptr<lane>> open_lane(std::span<object const> objects, unsigned index, unsigned depth) {
    auto inner = memory.open_lane(objects, index, depth);
    return std::make_unique<lane>(*std::move(inner), this, depth);
  }

  penstock::storage::memory memory{};
  std::shared_ptr<count> seen = std::make_shared<count>();
  std::function<void()> before_read{};
  std::vector<penstock::stored_object> more_listed{};  ///< what the listing claims beside what is there
  std::shared_ptr<penstock::error> list_error{};
  bool stuck = false;  ///< never answers
};
}  // namespace fixture
