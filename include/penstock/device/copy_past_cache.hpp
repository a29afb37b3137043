#pragma once
#include <cstddef>
#include <cstring>

#include <penstock/core/bytes.hpp>
#include <penstock/core/separate.hpp>

PENSTOCK_BEGIN
namespace detail {
/// Copies that leave their destination out of the cache: weights are written once and read much later, and an ordinary
/// store fetches each line before it overwrites it. Short copies are ordinary ones.
///
/// When it is destroyed all its stores are done, in the order that other threads expect. @threads one
class copy_past_cache {
 public:
  static constexpr std::size_t least = 1024;  ///< bytes; below, the lines cut at both ends cost more than is saved

  copy_past_cache() = default;
  copy_past_cache(copy_past_cache const&) = delete;
  copy_past_cache& operator=(copy_past_cache const&) = delete;
  ~copy_past_cache() {
    if (streamed_) settle();
  }

  void operator()(std::byte* to, std::byte const* from, std::size_t n) noexcept {
    if (n < least) std::memcpy(to, from, n);
    else stream(to, from, n);
  }

 private:
  void stream(std::byte* to, std::byte const* from, std::size_t n) noexcept;
  static void settle() noexcept;

  bool streamed_ = false;
};
}  // namespace detail
PENSTOCK_END

#ifndef PENSTOCK_SEPARATE_COMPILATION
#  include <penstock/device/copy_past_cache.ipp>
#endif
