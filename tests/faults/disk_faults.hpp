#pragma once
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "command.hpp"

/// A disk on which something happens before the k-th read:
///
///   read_at=K read_do=NUMBER                         that errno, once
///   read_do=short                                    from there on 1 to 7 bytes, and EINTR, in turn
///   read_do=truncate|replace|remove|grow|rewrite     to the file victim=PATH
///   read_do=stop                                     the load is cancelled
///   read_us=N                                        each read takes so long
struct disk_faults {
  static inline std::string what, victim;
  static inline long at = -1, delay = 0;
  static inline std::atomic<long> reads{0};
  static inline std::stop_source* stop = nullptr;

  static void set(command const& c, std::stop_source& s) {
    what = c.text("read_do"), victim = c.text("victim");
    at = c.number("read_at", -1), delay = c.number("read_us", 0);
    reads = 0, stop = &s;
  }

  static ssize_t read(int file, iovec const* places, int count, off_t first) {
    long const n = reads.fetch_add(1);
    if (delay) std::this_thread::sleep_for(std::chrono::microseconds(delay));
    if (at < 0 || n < at) return ::preadv(file, places, count, first);
    if (what == "short") return a_few(n, file, places[0], first);
    if (n == at) {
      if (int const number = std::atoi(what.c_str())) return errno = number, -1;
      change();
    }
    return ::preadv(file, places, count, first);
  }

 private:
  static ssize_t a_few(long n, int file, iovec const& place, off_t first) {
    if (n % 5 == 0) return errno = EINTR, -1;
    auto const most = static_cast<std::size_t>(n % 7 + 1);
    return ::pread(file, place.iov_base, place.iov_len < most ? place.iov_len : most, first);
  }
  static void change() {
    std::error_code ignored;
    auto const size = std::filesystem::file_size(victim, ignored);
    if (what == "stop") stop->request_stop();
    if (what == "truncate") std::filesystem::resize_file(victim, size / 2, ignored);
    if (what == "grow") std::filesystem::resize_file(victim, size + 4096, ignored);
    if (what == "remove") std::filesystem::remove(victim, ignored);
    if (what == "rewrite") {
      std::fstream file(victim, std::ios::in | std::ios::out | std::ios::binary);
      file << std::string(size, 'x');
    }
    if (what == "replace") {
      std::ofstream(victim + ".new", std::ios::binary) << std::string(size, 'x');
      std::filesystem::rename(victim + ".new", victim, ignored);
    }
  }
};
