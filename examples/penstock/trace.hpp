#pragma once
#include <chrono>
#include <mutex>
#include <string>
#include <vector>

#include <penstock/core/result.hpp>

/// Events for a Chrome trace (about:tracing, Perfetto). @threads any number
/// @source "Trace Event Format", complete ("X") and instant ("i") events
class trace {
 public:
  using clock = std::chrono::steady_clock;

  /// Something that took time. @param row  the row it is shown in: a rank or a lane
  void span(std::string name, unsigned process, unsigned row, clock::time_point from, clock::time_point to,
            std::string arguments = {});
  /// Something that happened.
  void mark(std::string name, unsigned process, unsigned row);
  /// @errors io
  penstock::result<void> write(std::string const& path) const;

 private:
  void add(std::string event);
  double since_start(clock::time_point t) const {
    return std::chrono::duration<double, std::micro>(t - start_).count();
  }
  clock::time_point start_ = clock::now();
  mutable std::mutex m_;
  std::vector<std::string> events_;
};
