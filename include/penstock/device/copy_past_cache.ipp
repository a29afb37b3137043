#pragma once
#include <cstdint>

#include <penstock/device/copy_past_cache.hpp>
// Sanitizers of GCC do not see streaming stores.
#if defined(__SSE2__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#  define PENSTOCK_STREAMING_STORES 1
#  include <emmintrin.h>
#else
#  define PENSTOCK_STREAMING_STORES 0
#endif

PENSTOCK_BEGIN
namespace detail {
#if PENSTOCK_STREAMING_STORES
PENSTOCK_INLINE void copy_past_cache::stream(std::byte* to, std::byte const* from, std::size_t n) noexcept {
  constexpr std::size_t line = 64, parts = line / sizeof(__m128i);
  std::size_t const head = (line - reinterpret_cast<std::uintptr_t>(to) % line) % line;
  std::memcpy(to, from, head);
  to += head, from += head, n -= head;
  for (; n >= line; to += line, from += line, n -= line) {
    auto const* const source = reinterpret_cast<__m128i const*>(from);
    auto* const place = reinterpret_cast<__m128i*>(to);
    __m128i loaded[parts];  // all loads before the stores: a line leaves the processor whole
    for (std::size_t i = 0; i < parts; ++i) loaded[i] = _mm_loadu_si128(source + i);
    for (std::size_t i = 0; i < parts; ++i) _mm_stream_si128(place + i, loaded[i]);
  }
  std::memcpy(to, from, n);
  streamed_ = true;
}
PENSTOCK_INLINE void copy_past_cache::settle() noexcept { _mm_sfence(); }
#else
PENSTOCK_INLINE void copy_past_cache::stream(std::byte* to, std::byte const* from, std::size_t n) noexcept {
  std::memcpy(to, from, n);
}
PENSTOCK_INLINE void copy_past_cache::settle() noexcept {}
#endif
}  // namespace detail
PENSTOCK_END
