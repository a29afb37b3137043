#pragma once
// A program that prints something small. Included by .ipp files only.
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <optional>
#include <string>
#include <vector>

#include <penstock/core/result.hpp>

extern char** environ;  // NOLINT: POSIX wants it declared by who uses it

PENSTOCK_BEGIN
namespace net::detail {
/// A command line as the words that a POSIX shell makes of it, without any expansion. @returns nothing for an open quote
inline std::optional<std::vector<std::string>> words_of(std::string_view line) {
  std::vector<std::string> words;
  bool inside = false;
  char quote = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    char const c = line[i];
    if (!quote && (c == ' ' || c == '\t')) {
      inside = false;
      continue;
    }
    if (!inside) words.emplace_back(), inside = true;
    if (quote ? c == quote : c == '"' || c == '\'') {
      quote = quote ? char(0) : c;
    } else if (c == '\\' && quote != '\'' && i + 1 < line.size() &&
               (!quote || line[i + 1] == '"' || line[i + 1] == '\\')) {
      words.back() += line[++i];
    } else {
      words.back() += c;
    }
  }
  if (quote || words.empty()) return std::nullopt;
  return words;
}

/// Runs a program, found by PATH, without a shell, its input empty, and gives what it prints: at most 64 KiB.
///
/// @errors io: it cannot be started, ends with another status than 0, prints too much, or takes longer than a minute
/// @blocks until it ends
inline result<std::string> run_process(std::vector<std::string> const& words) {
  auto const failed = [&](std::string found) {
    return error{error_kind::io, "expected keys from the program " + words[0] + ", found " + std::move(found) +
                                     "; run it by hand to see why"};
  };
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return failed("no pipe");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  std::vector<char*> arguments;
  for (auto const& w : words) arguments.push_back(const_cast<char*>(w.c_str()));
  arguments.push_back(nullptr);
  pid_t child = 0;
  int const started = ::posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  std::string text, problem;
  if (started == 0) {
    auto const until = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    for (char part[4096];;) {
      auto const left = std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now()).count();
      pollfd p{ends[0], POLLIN, 0};
      int const ready = left > 0 ? ::poll(&p, 1, static_cast<int>(left)) : 0;
      if (ready < 0 && errno == EINTR) continue;
      if (ready <= 0) problem = "no end within a minute";
      ssize_t const n = problem.empty() ? ::read(ends[0], part, sizeof part) : 0;
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) break;
      text.append(part, static_cast<std::size_t>(n));
      if (text.size() > 64U << 10) {
        problem = "more than 64 KiB";
        break;
      }
    }
    if (!problem.empty()) ::kill(child, SIGKILL);
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {}
    if (problem.empty() && !(WIFEXITED(status) && WEXITSTATUS(status) == 0))
      problem = "that it failed with status " + std::to_string(WIFEXITED(status) ? WEXITSTATUS(status) : -1);
  } else {
    problem = "that it cannot be started";
  }
  ::close(ends[0]);
  if (!problem.empty()) return failed(std::move(problem));
  return text;
}
}  // namespace net::detail
PENSTOCK_END
