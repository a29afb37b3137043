#pragma once
#include <bit>
#include <chrono>
#include <optional>
#include <string_view>
#include <vector>

#include <penstock/core/hash.hpp>

PENSTOCK_BEGIN
namespace detail {
/// Finds names by their text. Holds numbers only: `name_of(number)` gives the text of one that was put.
///
/// Its hash has a secret of its own, so that no file can hold a million names that collide.
class name_table {
 public:
  name_table() = default;
  /// For at most `names` names.
  explicit name_table(std::size_t names) : slots_(std::bit_ceil(2 * names + 2)) {
    auto const now = std::chrono::steady_clock::now().time_since_epoch().count();
    secret_ = hash_of(static_cast<u64>(now), reinterpret_cast<std::uintptr_t>(slots_.data()));
  }

  /// @returns the number of an equal name that is there already; else nothing, and `number` has been put
  template <class NameOf>
  std::optional<u32> put(std::string_view name, u32 number, NameOf const& name_of) {
    return put(name, hash_of(name, secret_), number, name_of);
  }

  /// Puts the numbers [0, count), faster than one by one: the misses of a batch overlap.
  ///
  /// @returns the first number whose name is there already; else nothing
  template <class NameOf>
  std::optional<u32> put_all(u32 count, NameOf const& name_of) {
    u64 hashes[32];
    for (u32 first = 0; first < count; first += 32) {
      u32 const n = count - first < 32 ? count - first : 32;
      for (u32 i = 0; i < n; ++i) {
        hashes[i] = hash_of(name_of(first + i), secret_);
        __builtin_prefetch(&slots_[hashes[i] & (slots_.size() - 1)]);
      }
      for (u32 i = 0; i < n; ++i)
        if (put(name_of(first + i), hashes[i], first + i, name_of)) return first + i;
    }
    return std::nullopt;
  }

  template <class NameOf>
  std::optional<u32> find(std::string_view name, NameOf const& name_of) const {
    if (slots_.empty()) return std::nullopt;
    slot const& s = slots_[at(name, hash_of(name, secret_), name_of)];
    return s.number ? std::optional{s.number - 1} : std::nullopt;
  }

 private:
  struct slot {
    u32 tag = 0;
    u32 number = 0;  // plus one; 0: free
  };
  static constexpr u32 tag(u64 h) noexcept { return static_cast<u32>(h >> 32); }

  template <class NameOf>
  std::optional<u32> put(std::string_view name, u64 h, u32 number, NameOf const& name_of) {
    slot& s = slots_[at(name, h, name_of)];
    if (s.number) return s.number - 1;
    s = {tag(h), number + 1};
    return std::nullopt;
  }

  /// Where the name is, or the free slot where it would be.
  template <class NameOf>
  std::size_t at(std::string_view name, u64 h, NameOf const& name_of) const {
    std::size_t const mask = slots_.size() - 1;
    for (std::size_t i = h & mask;; i = (i + 1) & mask) {
      slot const& s = slots_[i];
      if (!s.number || (s.tag == tag(h) && name_of(s.number - 1) == name)) return i;
    }
  }

  std::vector<slot> slots_;
  u64 secret_ = 0;
};
}  // namespace detail
PENSTOCK_END
