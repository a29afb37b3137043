#pragma once
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>

#include <penstock/core/error.hpp>

#include "command.hpp"

/// What happens at the k-th callback of a load: `at=K do=exception|error|number|stop`, `linger_us=N` in each.
class trouble {
 public:
  trouble(command const& c, std::stop_source& stop)
      : what_(c.text("do")), at_(c.number("at", -1)), linger_(c.number("linger_us", 0)), stop_(stop) {}

  /// The beginning of a callback. @param serial  only one may run at a time
  class call {
   public:
    explicit call(trouble& t) : t_(t) {
      if (t_.inside_.fetch_add(1) != 0) t_.overlapped_ = true;
      if (t_.over_) t_.late_ = true;
      long const n = t_.calls_.fetch_add(1);
      if (t_.linger_) std::this_thread::sleep_for(std::chrono::microseconds(t_.linger_));
      if (n == t_.at_) t_.make();
    }
    ~call() { t_.inside_.fetch_sub(1); }
    call(call const&) = delete;
    call& operator=(call const&) = delete;

   private:
    trouble& t_;
  };

  /// The load has returned: a callback from now on is one too many.
  void end() { over_ = true; }
  [[nodiscard]] long calls() const { return calls_; }
  [[nodiscard]] bool overlapped() const { return overlapped_; }
  [[nodiscard]] bool quiet() const { return !late_ && !inside_; }
  [[nodiscard]] std::chrono::steady_clock::time_point stopped() const { return stopped_; }

 private:
  void make() {
    if (what_ == "stop") {
      stopped_ = std::chrono::steady_clock::now();
      stop_.request_stop();
    }
    inside_.fetch_sub(what_ == "stop" || what_.empty() ? 0 : 1);  // who throws is not inside any more
    if (what_ == "exception") throw std::runtime_error("thrown by the sink");
    if (what_ == "error") throw penstock::error{penstock::error_kind::usage, "thrown by the sink"};
    if (what_ == "number") throw 7;
  }

  std::string const what_;
  long const at_, linger_;
  std::stop_source& stop_;
  std::atomic<long> calls_{0};
  std::atomic<int> inside_{0};
  std::atomic<bool> overlapped_{false}, over_{false}, late_{false};
  std::chrono::steady_clock::time_point stopped_{};
};
