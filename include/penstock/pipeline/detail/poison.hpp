#pragma once
#include <cstring>

#include <penstock/core/bytes.hpp>
#if PENSTOCK_ASAN
#  include <sanitizer/asan_interface.h>
#endif

PENSTOCK_BEGIN
namespace detail {
/// In checked builds, makes a later look at these bytes fail: a sanitizer's report, or NaN where there is none.
///
/// `p` stands on a slot's first byte, `n` may be rounded up within the slot.
inline void poison([[maybe_unused]] std::byte* p, [[maybe_unused]] bytes n) noexcept {
  if constexpr (PENSTOCK_CHECKED) {
#if PENSTOCK_ASAN
    __asan_poison_memory_region(p, (n.count + 63) / 64 * 64);
#else
    std::memset(p, 0xff, n.count);
#endif
  }
}

/// Poisons memory that nobody has written yet: a sanitizer only, since a fill would touch every page.
inline void poison_fresh([[maybe_unused]] std::byte* p, [[maybe_unused]] bytes n) noexcept {
#if PENSTOCK_ASAN
  poison(p, n);
#endif
}

/// The bytes may be used again; all of a slot before its memory goes back to the allocator.
inline void unpoison([[maybe_unused]] std::byte* p, [[maybe_unused]] bytes n) noexcept {
#if PENSTOCK_ASAN
  if constexpr (PENSTOCK_CHECKED) __asan_unpoison_memory_region(p, n.count);
#endif
}
}  // namespace detail
PENSTOCK_END
