#pragma once
#include <concepts>
#include <cstddef>
#include <new>

#include <penstock/core/config.hpp>

PENSTOCK_BEGIN
/// Where memory is, as far as a device has to know.
enum class memory_space : unsigned char { host, cuda };

/// Memory of one's own: two functions and a fact.
///
///   M::allocate(n)      `n` bytes, aligned for any element type, or null
///   M::release(p, n)    gives back what allocate(n) gave
///   M::space            which devices can write it
template <class M>
concept memory = requires(std::size_t n, void* p) {
  { M::allocate(n) } noexcept -> std::same_as<void*>;
  { M::release(p, n) } noexcept -> std::same_as<void>;
  { M::space } -> std::convertible_to<memory_space>;
};

/// Memory of the process, aligned to 64 bytes.
struct host_memory {
  static constexpr memory_space space = memory_space::host;
  static constexpr std::align_val_t alignment{64};
  static void* allocate(std::size_t n) noexcept { return ::operator new(n ? n : 1, alignment, std::nothrow); }
  static void release(void* p, std::size_t) noexcept { ::operator delete(p, alignment); }
};
static_assert(memory<host_memory>);
PENSTOCK_END
