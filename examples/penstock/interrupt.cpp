#include "interrupt.hpp"

#include <csignal>
#include <ctime>

namespace {
sigset_t both() {
  sigset_t s;
  sigemptyset(&s);
  sigaddset(&s, SIGINT);
  sigaddset(&s, SIGTERM);
  return s;
}
}  // namespace

interrupt::interrupt() {
  auto const signals = both();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);  // inherited by every thread that follows
  listener_ = std::jthread([this](std::stop_token end) {
    auto const wanted = both();
    timespec const tick{0, 50'000'000};
    while (!end.stop_requested())
      if (sigtimedwait(&wanted, nullptr, &tick) > 0) stop_.request_stop();
  });
}
interrupt::~interrupt() = default;
