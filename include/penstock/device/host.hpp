#pragma once
#include <sys/mman.h>

#include <string>
#include <utility>

#include <penstock/device/copy_past_cache.hpp>
#include <penstock/device/device.hpp>

PENSTOCK_BEGIN
namespace device {
/// Whole pages from the system: zero, not touched before use, huge pages where they fit.
///
/// Moves, does not copy. @threads distinct objects are independent
class host_pages {
 public:
  static constexpr std::size_t page = 4096;

  /// At least `n` bytes, rounded up to pages. @errors memory
  static result<host_pages> allocate(bytes n) {
    host_pages fresh;
    fresh.size_ = (n.count + page - 1) / page * page;
    if (!fresh.size_) return result<host_pages>{std::move(fresh)};  // nvcc does not move by itself here
    void* const p = ::mmap(nullptr, fresh.size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
      return error{error_kind::memory, "expected " + std::to_string(fresh.size_) +
                                           " bytes of memory for slots, found none; lower the memory limit"};
    fresh.data_ = static_cast<std::byte*>(p);
    ::madvise(p, fresh.size_, MADV_HUGEPAGE);     // a wish: without huge pages it is only slower
    return result<host_pages>{std::move(fresh)};  // nvcc does not move by itself here
  }

  host_pages(host_pages&& o) noexcept : data_(std::exchange(o.data_, nullptr)), size_(std::exchange(o.size_, 0)) {}
  host_pages& operator=(host_pages&& o) noexcept {
    std::swap(data_, o.data_);
    std::swap(size_, o.size_);
    return *this;
  }
  ~host_pages() {
    if (data_) ::munmap(data_, size_);
  }

  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  host_pages() = default;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

/// Parameters in the memory of this process. Copies are done when `copy` returns, and most reads need none: the host
/// reaches every destination itself.
///
/// @threads any number of lanes at once
struct host {
  using staging = host_pages;
  static constexpr bool synchronous = true;
  template <memory M>
  static constexpr bool writes = M::space == memory_space::host;

  /// Always done: see `synchronous`.
  struct event {
    result<bool> done() { return true; }
    result<void> wait() { return {}; }
  };

  /// Copies at once, in the calling thread.
  struct stream {
    result<void> copy(std::span<copy_op const> ops) {
      penstock::detail::copy_past_cache copy;
      for (auto const& op : ops) {
        if (op.rows == 1 || (op.to_pitch == op.width && op.from_pitch == op.width)) {
          copy(op.to, op.from, std::size_t{op.width} * op.rows);
          continue;
        }
        for (u32 row = 0; row < op.rows; ++row)
          copy(op.to + row * op.to_pitch, op.from + row * op.from_pitch, op.width);
      }
      return {};
    }
    result<void> mark(event&) { return {}; }
  };

  result<staging> stage(bytes n) { return host_pages::allocate(n); }
  result<stream> open_stream() { return stream{}; }
  bool reaches(std::byte const*) const noexcept { return true; }
  result<void> bind() { return {}; }
};
}  // namespace device
static_assert(device_backend<device::host>);
PENSTOCK_END
