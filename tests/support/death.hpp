#pragma once
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

namespace support {
/// What a call that stops the program left behind.
struct death {
  bool aborted = false;
  std::string words;
};

/// Calls `f` in a child process. For contracts whose breach stops the program in checked builds.
template <class F>
death dies(F&& f) {
  int pipe_ends[2];
  if (::pipe(pipe_ends)) return {};
  pid_t const child = ::fork();
  if (child == 0) {
    ::close(pipe_ends[0]);
    ::dup2(pipe_ends[1], STDERR_FILENO);
    rlimit const no_core{0, 0};
    ::setrlimit(RLIMIT_CORE, &no_core);
    ::signal(SIGABRT, SIG_DFL);  // the test framework would report the signal itself
    f();
    ::_exit(0);
  }
  ::close(pipe_ends[1]);
  death d;
  char text[512];
  for (ssize_t n; (n = ::read(pipe_ends[0], text, sizeof text)) > 0;) d.words.append(text, static_cast<std::size_t>(n));
  ::close(pipe_ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  d.aborted = WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
  return d;
}
}  // namespace support
