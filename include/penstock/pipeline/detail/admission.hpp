#pragma once
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <vector>

#include <penstock/core/result.hpp>
#include <penstock/pipeline/detail/prepare.hpp>

PENSTOCK_BEGIN
namespace detail {
/// The record of which reads lanes have taken, and of the memory of what is kept. In plan order, under one mutex.
///
/// What the admission of a read made (kept memory, destinations) is seen by whoever admits a later one. @threads any
class admission {
 public:
  static constexpr u32 at_the_end = ~u32{0};  ///< all reads were taken
  static constexpr u32 no_room = ~u32{1};     ///< kept bytes of the next read have no room until a group closes

  admission(plan const& p, prepared const& pre, bytes room) : p_(p), pre_(pre), room_(room), kept_(p.groups.size()) {}

  /// The next read. @param bind  called with its number under the mutex: destinations that are made now
  /// @errors memory, and those of `bind`
  template <class Bind>
  result<u32> next(Bind&& bind) {
    std::lock_guard const lock(m_);
    if (next_ == p_.reads.size()) return at_the_end;
    u32 const begin = pre_.opens_of[next_], end = pre_.opens_of[next_ + 1];
    bytes more;
    for (u32 i = begin; i < end; ++i) more += size_of(pre_.opens[i]);
    if (more.count && held_ + more > room_) return no_room;
    for (u32 i = begin; i < end; ++i) {
      auto& memory = kept_[index_of(pre_.opens[i])];
      memory.reset(new (std::nothrow) std::byte[size_of(pre_.opens[i]).count]);
      if (!memory)
        return error{error_kind::memory, "expected " + std::to_string(size_of(pre_.opens[i]).count) +
                                             " bytes of memory for tensors that wait, found none"};
    }
    held_ += more;
    if (held_ > peak_) peak_ = held_;
    if (auto bound = bind(next_); !bound) return std::move(bound.error());
    return next_++;
  }

  /// The kept bytes of a group that is open.
  [[nodiscard]] std::byte* kept(group_id g) const noexcept { return kept_[index_of(g)].get(); }
  /// Gives a group's memory back. Tell the others afterwards.
  void close(group_id g) {
    std::lock_guard const lock(m_);
    kept_[index_of(g)].reset();
    held_ -= size_of(g);
  }

  // For tests, and after all lanes have ended.
  [[nodiscard]] u32 taken() const noexcept { return next_; }
  [[nodiscard]] bytes held() const noexcept { return held_; }
  [[nodiscard]] bytes peak() const noexcept { return peak_; }

 private:
  [[nodiscard]] bytes size_of(group_id g) const noexcept { return bytes{p_.groups[index_of(g)].size}; }

  plan const& p_;
  prepared const& pre_;
  bytes const room_;
  std::mutex m_;
  std::vector<std::unique_ptr<std::byte[]>> kept_;
  u32 next_ = 0;
  bytes held_, peak_;
};
}  // namespace detail
PENSTOCK_END
