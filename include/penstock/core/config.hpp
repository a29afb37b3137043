#pragma once

/// The version of the library, for `#if`.
#define PENSTOCK_VERSION_MAJOR 0
#define PENSTOCK_VERSION_MINOR 1
#define PENSTOCK_VERSION_PATCH 0

// A checked build stops a loan that is used after its lease, and poisons a slot when its lease ends.
#ifndef PENSTOCK_CHECKED
#  ifdef NDEBUG
#    define PENSTOCK_CHECKED 0
#  else
#    define PENSTOCK_CHECKED 1
#  endif
#endif

// Checked and unchecked bodies have different names, so that a program which mixes them does not link.
#if PENSTOCK_CHECKED
#  define PENSTOCK_ABI v0_checked
#else
#  define PENSTOCK_ABI v0_unchecked
#endif
#define PENSTOCK_BEGIN \
  namespace penstock { \
  inline namespace PENSTOCK_ABI {
#define PENSTOCK_END \
  }                  \
  }

// Written `PENSTOCK_TRY { ... } PENSTOCK_CATCH_ALL { ... }`, in builds without exceptions the second block is never entered.
#if defined(__cpp_exceptions)
#  define PENSTOCK_TRY try
#  define PENSTOCK_CATCH_ALL catch (...)
#else
#  define PENSTOCK_TRY if constexpr (true)
#  define PENSTOCK_CATCH_ALL else
#endif

// Is AddressSanitizer watching this translation unit?
#if defined(__SANITIZE_ADDRESS__)
#  define PENSTOCK_ASAN 1
#elif defined(__has_feature)
#  if __has_feature(address_sanitizer)
#    define PENSTOCK_ASAN 1
#  endif
#endif
#ifndef PENSTOCK_ASAN
#  define PENSTOCK_ASAN 0
#endif
