#include "progress_bar.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "program.hpp"

using namespace penstock;

namespace {
constexpr auto between_frames = std::chrono::milliseconds(100);
constexpr auto between_lines = std::chrono::seconds(3);

bool is_terminal() {
  char const* const kind = std::getenv("TERM");
  return isatty(STDERR_FILENO) && !(kind && std::string_view(kind) == "dumb");
}
/// "1:02:03", "0:07"
std::string clock_of(double seconds) {
  auto const s = static_cast<unsigned long long>(seconds + 0.5);
  char text[48];
  if (s < 3600) std::snprintf(text, sizeof text, "%llu:%02llu", s / 60, s % 60);
  else std::snprintf(text, sizeof text, "%llu:%02llu:%02llu", s / 3600, s / 60 % 60, s % 60);
  return text;
}
}  // namespace

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
    : wanted_(wanted), terminal_(is_terminal()), total_(total), done_(ranks) {
  if (wanted_ && terminal_) draw(false);
}

void progress_bar::update(std::size_t rank, bytes done) {
  if (!wanted_) return;
  std::lock_guard const lock(m_);
  sum_ += done - done_[rank];
  done_[rank] = done;
  auto const now = clock::now();
  if (sum_ == total_ || now - last_ < (terminal_ ? between_frames : between_lines)) return;
  last_ = now;
  draw(false);
}

void progress_bar::notice(std::string_view text) {
  std::lock_guard const lock(m_);
  if (wanted_ && terminal_) std::fputs("\r\x1b[K", stderr);
  print_notice(text);
  if (wanted_ && terminal_) draw(false);
}

void progress_bar::finish() {
  if (!wanted_) return;
  sum_ = total_;
  draw(true);
}

void progress_bar::abandon() {
  if (wanted_ && terminal_ && drawn_) std::fputc('\n', stderr);
}

void progress_bar::draw(bool last) {
  drawn_ = true;
  double const part = total_.count ? static_cast<double>(sum_.count) / static_cast<double>(total_.count) : 1;
  double const seconds = std::chrono::duration<double>(clock::now() - begin_).count();
  double const rate = seconds > 0 ? static_cast<double>(sum_.count) / seconds : 0;
  std::string tail;
  if (rate > 0) tail = ", " + for_people(bytes{static_cast<u64>(rate)}) + "/s";
  if (last) tail += ", " + clock_of(seconds);
  else if (rate > 0) tail += ", " + clock_of(static_cast<double>((total_ - sum_).count) / rate) + " left";
  char percent[8];
  std::snprintf(percent, sizeof percent, "%3u%%", static_cast<unsigned>(100 * part));
  if (terminal_) {
    auto const text = std::string(percent) + "  " + for_people(sum_) + " of " + for_people(total_) + tail;
    std::fprintf(stderr, "\r%s\x1b[K%s", bar(text, part).c_str(), last ? "\n" : "");
    std::fflush(stderr);
  } else {
    std::fprintf(stderr, "progress: %llu of %llu bytes (%u %%)%s\n", static_cast<unsigned long long>(sum_.count),
                 static_cast<unsigned long long>(total_.count), static_cast<unsigned>(100 * part), tail.c_str());
  }
}

/// The text behind a bar that fills the terminal; without room first the bar goes, then the end of the text. The last
/// column stays free.
std::string progress_bar::bar(std::string text, double part) const {
  winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || !size.ws_col) size.ws_col = 80;
  std::size_t const room = size.ws_col - 1u;
  while (text.size() > room) text.resize(text.find(',') == text.npos ? room : text.rfind(','));
  if (text.size() + 12 > room) return text;
  std::size_t const width = std::min<std::size_t>(room - text.size() - 4, 50);
  auto const full = static_cast<std::size_t>(part * static_cast<double>(width));
  return "[" + std::string(full, '#') + std::string(width - full, '.') + "] " + text;
}
