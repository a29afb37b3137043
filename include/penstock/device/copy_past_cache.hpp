#pragma once
#include <cstddef>
#include <cstring>

#include <penstock/core/bytes.hpp>
// Sanitizers of GCC do not see streaming stores.
#if defined(__SSE2__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#  define PENSTOCK_STREAMING_STORES 1
#  include <emmintrin.h>
#else
#  define PENSTOCK_STREAMING_STORES 0
#endif

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
#if PENSTOCK_STREAMING_STORES
  ~copy_past_cache() {
    if (streamed_) _mm_sfence();
  }

  void operator()(std::byte* to, std::byte const* from, std::size_t n) noexcept {
    constexpr std::size_t line = 64, part = sizeof(__m128i);
    if (n >= least) {
      streamed_ = true;
      std::size_t const head = (line - reinterpret_cast<std::uintptr_t>(to) % line) % line;
      std::memcpy(to, from, head);
      to += head, from += head, n -= head;
      for (; n >= line; to += line, from += line, n -= line) {
        auto const* const source = reinterpret_cast<__m128i const*>(from);
        auto* const place = reinterpret_cast<__m128i*>(to);
        __m128i parts[line / part];  // all loads before the stores: a line leaves the processor whole
        for (std::size_t i = 0; i < line / part; ++i) parts[i] = _mm_loadu_si128(source + i);
        for (std::size_t i = 0; i < line / part; ++i) _mm_stream_si128(place + i, parts[i]);
      }
    }
    std::memcpy(to, from, n);
  }

 private:
  bool streamed_ = false;
#else
  void operator()(std::byte* to, std::byte const* from, std::size_t n) noexcept { std::memcpy(to, from, n); }
#endif
};
}  // namespace detail
PENSTOCK_END
