#include "progress_bar.hpp"

#include <unistd.h>

#include <cstdio>

using namespace penstock;

std::string for_people(bytes n) {
  constexpr char const* units[] = {"bytes", "kB", "MB", "GB", "TB", "PB"};
  double value = static_cast<double>(n.count);
  unsigned u = 0;
  while (value >= 1000 && u < 5) value /= 1000, ++u;
  char text[48];
  std::snprintf(text, sizeof text, u ? "%.1f %s" : "%.0f %s", value, units[u]);
  return text;
}

progress_bar::progress_bar(bool wanted, bytes total, std::size_t ranks)
    : wanted_(wanted), terminal_(isatty(STDERR_FILENO)), total_(total), done_(ranks) {
  if (wanted_) draw(bytes{});
}

void progress_bar::update(std::size_t rank, bytes done) {
  if (!wanted_) return;
  std::lock_guard const lock(m_);
  done_[rank] = done;
  bytes sum;
  for (auto d : done_) sum += d;
  auto const now = std::chrono::steady_clock::now();
  auto const tenths =
      total_.count ? static_cast<unsigned>(10 * static_cast<double>(sum.count) / static_cast<double>(total_.count))
                   : 10;
  bool const time = now - last_ > std::chrono::milliseconds(100);
  if (sum < total_ && (terminal_ ? time : tenths > tenths_)) tenths_ = tenths, last_ = now, draw(sum);
}

void progress_bar::finish() {
  if (!wanted_) return;
  draw(total_);
  if (terminal_) std::fputc('\n', stderr);
}

void progress_bar::abandon() {
  if (wanted_ && terminal_ && drawn_) std::fputc('\n', stderr);
}

void progress_bar::draw(bytes done) {
  drawn_ = true;
  double const part = total_.count ? static_cast<double>(done.count) / static_cast<double>(total_.count) : 1;
  double const seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  auto const rate = seconds > 0 ? for_people(bytes{static_cast<u64>(static_cast<double>(done.count) / seconds)}) + "/s"
                                : std::string{};
  if (terminal_) {
    constexpr unsigned width = 32;
    auto const full = static_cast<unsigned>(part * width);
    std::fprintf(stderr, "\r[%s%s] %3.0f%%  %s of %s  %s   ", std::string(full, '#').c_str(),
                 std::string(width - full, '.').c_str(), 100 * part, for_people(done).c_str(),
                 for_people(total_).c_str(), rate.c_str());
    std::fflush(stderr);
  } else {
    std::fprintf(stderr, "progress: %llu of %llu bytes (%.0f %%)\n", static_cast<unsigned long long>(done.count),
                 static_cast<unsigned long long>(total_.count), 100 * part);
  }
}
