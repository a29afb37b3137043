#pragma once
#include <chrono>
#include <mutex>
#include <string>
#include <vector>

#include <penstock/core/progress.hpp>

/// One bar for all ranks of this process, on standard error: bytes done of a total that is fixed from the start.
///
/// On a terminal a bar that is drawn over itself; elsewhere a line for each tenth. Ends exactly at the total.
/// @threads any number
class progress_bar {
 public:
  progress_bar(bool wanted, penstock::bytes total, std::size_t ranks);
  /// Rank number `rank` (of this process) has done so much.
  void update(std::size_t rank, penstock::bytes done);
  /// After success: the last line.
  void finish();
  /// After a failure: ends the line.
  void abandon();

 private:
  void draw(penstock::bytes done);
  bool wanted_, terminal_;
  penstock::bytes total_;
  std::mutex m_;
  std::vector<penstock::bytes> done_;
  unsigned tenths_ = 0;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now(), last_{};
};

/// "269.1 MB"
std::string for_people(penstock::bytes n);
