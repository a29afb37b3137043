#pragma once
#include <utility>
#include <vector>

#include <penstock/core/read.hpp>
#include <penstock/core/result.hpp>

PENSTOCK_BEGIN
namespace detail {
/// The lane of a store that answers at once: each `wait` does one read in the caller's thread.
///
/// So there is nothing to wake: a `wait` ends with its read, and without a read it returns 0 at once.
///
/// @tparam Read  `result<void> read(read_request<Object> const&)`
template <class Object, class Read>
class synchronous_lane {
 public:
  explicit synchronous_lane(Read read) : read_(std::move(read)) {}

  [[nodiscard]] unsigned depth() const noexcept { return 1; }
  void submit(read_request<Object> const& r) { waiting_.push_back(r); }
  /// @blocks for one read, whatever `most` says
  std::size_t wait(std::span<completion> out, std::chrono::microseconds) {
    if (waiting_.empty() || out.empty()) return 0;
    auto const r = waiting_.front();
    waiting_.erase(waiting_.begin());
    auto done = read_(r);
    out[0] = {r.tag, 0, done ? nullptr : std::make_unique<error>(std::move(done).error())};
    return 1;
  }
  void wake() noexcept {}
  void cancel() noexcept { waiting_.clear(); }
  [[nodiscard]] bytes transport_bytes() const noexcept { return {}; }

 private:
  std::vector<read_request<Object>> waiting_;
  Read read_;
};

/// What is wrong with a request, or nothing: the range must lie in the object and the places add up to it.
template <class Object>
result<void> check_request(read_request<Object> const& r, std::string const& shown) {
  bytes const has = r.from->size();
  if (r.range.first > has || r.range.size > has - r.range.first)
    return error{error_kind::format,
                 shown + " has " + std::to_string(has.count) + " bytes, and " + std::to_string(r.range.size.count) +
                     " are wanted from byte " + std::to_string(r.range.first.count) + "; fetch the file again",
                 {.uri = shown, .range = r.range}};
  u64 places = 0;
  for (auto const& s : r.to) places += s.bytes;
  if (places != r.range.size.count)
    return error{error_kind::usage,
                 "a read of " + shown + " asks for " + std::to_string(r.range.size.count) + " bytes into places of " +
                     std::to_string(places) + " bytes; the two must be equal",
                 {.uri = shown, .range = r.range}};
  return {};
}
}  // namespace detail
PENSTOCK_END
