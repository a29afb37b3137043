#pragma once
#include <cstddef>
#include <exception>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

namespace generate {
/// Calls `body(rank, stop)` for each rank on a thread of its own, and returns when all have returned.
///
/// The first exception requests a stop of the other ranks and is thrown when they have returned.
template <class Body>
void on_ranks(std::size_t ranks, Body const& body) {
  std::stop_source stop;
  std::mutex mutex;
  std::exception_ptr first;
  {
    std::vector<std::jthread> threads;
    for (std::size_t rank = 0; rank < ranks; ++rank)
      threads.emplace_back([&, rank] {
        try {
          body(rank, stop.get_token());
        } catch (...) {
          std::lock_guard const lock{mutex};
          if (!first) first = std::current_exception();
          stop.request_stop();
        }
      });
  }
  if (first) std::rethrow_exception(first);
}
}  // namespace generate
