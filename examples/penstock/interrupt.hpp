#pragma once
#include <stop_token>
#include <thread>

/// Turns SIGINT and SIGTERM into a stop request for as long as it lives. Make it before any other thread.
class interrupt {
 public:
  interrupt();
  ~interrupt();
  [[nodiscard]] std::stop_token token() const { return stop_.get_token(); }
  void request_stop() { stop_.request_stop(); }

 private:
  std::stop_source stop_;
  std::jthread listener_;
};
