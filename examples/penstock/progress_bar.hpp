#pragma once
#include <chrono>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include <penstock/core/progress.hpp>

/// One account for all ranks of this process, on standard error: bytes done of a total that is fixed from the start, rate
/// and time left.
///
/// On a terminal one line that is drawn over itself and as wide as the terminal is now; elsewhere a line every few seconds
/// without control characters. Ends exactly at the total.
/// @threads any number
class progress_bar {
 public:
  progress_bar(bool wanted, penstock::bytes total, std::size_t ranks);
  /// Rank number `rank` (of this process) has done so much.
  void update(std::size_t rank, penstock::bytes done);
  /// Prints a notice above the line.
  void notice(std::string_view text);
  /// After success: the last line.
  void finish();
  /// After a failure: ends the line.
  void abandon();

 private:
  using clock = std::chrono::steady_clock;
  void draw(bool last);
  std::string bar(std::string text, double part) const;

  bool wanted_, terminal_;
  penstock::bytes total_, sum_;
  std::mutex m_;
  std::vector<penstock::bytes> done_;
  bool drawn_ = false;
  clock::time_point begin_ = clock::now(), last_ = begin_;
};

/// "269.1 MB"
std::string for_people(penstock::bytes n);
