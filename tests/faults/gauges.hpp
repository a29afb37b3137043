#pragma once
#include <dirent.h>
#include <malloc.h>

#include <chrono>
#include <thread>

/// What this process holds: a load must leave each of them as it was.
struct gauges {
  int threads = 0;
  int descriptors = 0;
  std::size_t heap = 0;  ///< bytes in use; 0 where a sanitizer has its own heap

  static gauges now() { return {entries("/proc/self/task"), entries("/proc/self/fd") - 1, in_use()}; }
  /// The same, after threads that were joined have left the table: the kernel wakes who joins a little earlier.
  static gauges settled(int threads) {
    for (int i = 0; i < 100 && entries("/proc/self/task") > threads; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return now();
  }

 private:
  static int entries(char const* folder) {
    int n = 0;
    DIR* const d = ::opendir(folder);
    if (!d) return -1;
    while (::readdir(d)) ++n;
    ::closedir(d);
    return n - 2;
  }
  static std::size_t in_use() {
    auto const m = ::mallinfo2();
    return m.uordblks + m.hblkhd;
  }
};
