#pragma once
#include <chrono>
#include <memory>
#include <span>

#include <penstock/core/bytes.hpp>
#include <penstock/core/error.hpp>

PENSTOCK_BEGIN
/// A place in the caller's memory.
struct scatter {
  std::byte* to = nullptr;
  std::size_t bytes = 0;
};

/// One exact range of one pinned object, straight into the caller's memory.
///
/// `to` adds up to `range.size`. The list and the memory it names live until the completion or `cancel`.
template <class Object>
struct read_request {
  Object const* from = nullptr;
  byte_range range{};
  std::span<scatter const> to{};
  u32 tag = 0;  ///< comes back in the completion
};

/// How a read ended. Without `failed`: exactly the bytes that were asked for, of the version that was pinned.
struct completion {
  u32 tag = 0;
  u32 retries = 0;  ///< attempts that failed on the way
  std::unique_ptr<error> failed{};
};
PENSTOCK_END
