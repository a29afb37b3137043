#pragma once
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include <penstock/core/result.hpp>
#include <penstock/plan/plan.hpp>

PENSTOCK_BEGIN
namespace detail {
struct readiness_writer;
}

/// Tells other threads, while a load runs, which parameters and layers are complete: counters to look at and waits.
///
/// Given to a load as `load_options::ready`. A parameter is ready when all its bytes are there and the sink's `ready` has
/// returned; a layer when all its parameters are (one without any is from the start). A load begins by calling `reset`,
/// so whoever may wait for a second load before it has begun resets first.
///
/// @threads everything from any thread, but one load at a time
class readiness {
 public:
  explicit readiness(plan const& p)
      : parameters_(new std::atomic<state>[p.parameters.size()]),
        layers_(new std::atomic<state>[p.layers]),
        parameter_count_(static_cast<u32>(p.parameters.size())),
        layer_count_(p.layers) {
    reset();
  }

  [[nodiscard]] bool ready(layer_id l) const noexcept { return index_of(l) < layer_count_ && is(layers_[index_of(l)]); }
  [[nodiscard]] bool ready(param_id p) const noexcept {
    return index_of(p) < parameter_count_ && is(parameters_[index_of(p)]);
  }
  /// How many layers are ready, in any order.
  [[nodiscard]] u32 layers_ready() const noexcept { return layers_ready_.load(std::memory_order_acquire); }

  /// @blocks until the layer is ready or the load has ended  @errors the kind with which the load failed
  result<void> wait(layer_id l) {
    if (index_of(l) >= layer_count_) return no_such("layer", index_of(l), layer_count_);
    return wait(layers_[index_of(l)], "layer", index_of(l));
  }
  /// @blocks until the parameter is ready or the load has ended
  /// @errors the kind with which the load failed; usage: the sink declined this parameter
  result<void> wait(param_id p) {
    if (index_of(p) >= parameter_count_) return no_such("parameter", index_of(p), parameter_count_);
    return wait(parameters_[index_of(p)], "parameter", index_of(p));
  }

  /// Nothing is ready and nothing has failed. Whoever waits goes on waiting.
  void reset() {
    std::lock_guard const lock(m_);
    for (u32 i = 0; i < parameter_count_; ++i) parameters_[i].store(state::pending);
    for (u32 i = 0; i < layer_count_; ++i) layers_[i].store(state::pending);
    layers_ready_.store(0);
    failure_.reset();
  }

 private:
  friend struct detail::readiness_writer;
  enum class state : u8 { pending, ready, declined };

  static bool is(std::atomic<state> const& s) noexcept { return s.load(std::memory_order_acquire) == state::ready; }
  static error no_such(char const* what, u32 i, u32 count) {
    return error{error_kind::usage, std::string("expected the number of a ") + what + " below " +
                                        std::to_string(count) + ", found " + std::to_string(i)};
  }
  result<void> wait(std::atomic<state>& s, char const* what, u32 i) {
    if (is(s)) return {};
    std::unique_lock lock(m_);
    waiters_.fetch_add(1);  // before looking: whoever sets a state looks for waiters after it
    news_.wait(lock, [&] { return s.load() != state::pending || failure_; });
    waiters_.fetch_sub(1);
    if (is(s)) return {};
    std::string const name = std::string(what) + " " + std::to_string(i);
    if (s.load() == state::declined)
      return error{error_kind::usage, "expected " + name + " to be loaded, but the sink declined it"};
    return error{failure_->kind, "expected " + name + " to be loaded, but the load failed: " + failure_->message};
  }
  void set(std::atomic<state>& s, state to) {
    s.store(to);
    if (!waiters_.load()) return;
    { std::lock_guard const lock(m_); }  // a waiter that had not seen it sleeps by now
    news_.notify_all();
  }

  struct failure {
    error_kind kind;
    std::string message;
  };
  std::unique_ptr<std::atomic<state>[]> parameters_, layers_;
  u32 parameter_count_, layer_count_;
  std::atomic<u32> layers_ready_{0}, waiters_{0};
  std::mutex m_;
  std::condition_variable news_;
  std::optional<failure> failure_;
};

namespace detail {
/// What the executor alone may do to a readiness.
struct readiness_writer {
  static bool fits(readiness const& r, plan const& p) {
    return r.parameter_count_ == p.parameters.size() && r.layer_count_ == p.layers;
  }
  static void parameter(readiness& r, param_id p) { r.set(r.parameters_[index_of(p)], readiness::state::ready); }
  static void declined(readiness& r, param_id p) { r.set(r.parameters_[index_of(p)], readiness::state::declined); }
  static void layer(readiness& r, layer_id l) {
    r.layers_ready_.fetch_add(1);
    r.set(r.layers_[index_of(l)], readiness::state::ready);
  }
  static void failed(readiness& r, error_kind kind, std::string message) {
    {
      std::lock_guard const lock(r.m_);
      if (!r.failure_) r.failure_ = readiness::failure{kind, std::move(message)};
    }
    r.news_.notify_all();
  }
};
}  // namespace detail
PENSTOCK_END
