#pragma once
#include <curl/curl.h>

#include <algorithm>

#include <penstock/net/retry.hpp>

PENSTOCK_BEGIN
namespace net {
PENSTOCK_INLINE void retry_state::progressed(bytes n, retry_policy const& policy) noexcept {
  fresh_ += n;
  if (fresh_ < policy.progress) return;
  fresh_ = {};
  recent_ = 0;
  last_ = {};
}

PENSTOCK_INLINE std::optional<std::chrono::milliseconds> retry_state::failed(
    retry_policy const& policy, clock::time_point now, bool throttled, std::optional<std::chrono::milliseconds> hint,
    std::minstd_rand& random) {
  if (!recent_) first_ = now;
  ++all_;
  if (++recent_ >= policy.attempts) return std::nullopt;
  auto const low = std::min(throttled ? policy.throttled_base : policy.base, policy.cap);
  auto const high = std::clamp(3 * last_, low, policy.cap);
  last_ = std::chrono::milliseconds(
      std::uniform_int_distribution<std::chrono::milliseconds::rep>(low.count(), high.count())(random));
  auto const delay = hint ? std::min(*hint, policy.hint_cap) : last_;
  if (now - first_ + delay > policy.time) return std::nullopt;
  return delay;
}

namespace detail {
inline std::optional<std::chrono::milliseconds> count_of(std::string_view text, std::chrono::milliseconds unit) {
  if (text.empty() || text.size() > 12) return std::nullopt;
  std::chrono::milliseconds::rep n = 0;
  for (char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    n = n * 10 + (c - '0');
  }
  return n * unit;
}
}  // namespace detail

PENSTOCK_INLINE std::optional<std::chrono::system_clock::time_point> parse_http_date(std::string_view value) {
  time_t const at = curl_getdate(std::string(value).c_str(), nullptr);
  if (at < 0 || at > 7'258'118'400) return std::nullopt;
  return std::chrono::system_clock::from_time_t(at);
}

PENSTOCK_INLINE std::optional<std::chrono::milliseconds> retry_hint(response_head const& head,
                                                                    std::chrono::system_clock::time_point now) {
  using std::chrono::milliseconds;
  for (char const* name : {"retry-after-ms", "x-ms-retry-after-ms", "x-amz-retry-after"})
    if (auto const value = head.get(name))
      if (auto const n = detail::count_of(*value, milliseconds(1))) return n;
  auto const value = head.get("retry-after");
  if (!value) return std::nullopt;
  if (auto const n = detail::count_of(*value, milliseconds(1000))) return n;
  time_t const at = curl_getdate(std::string(*value).c_str(), nullptr);
  if (at < 0) return std::nullopt;
  // In milliseconds: the clock's own unit does not reach every year that a date may have.
  auto const wait = milliseconds(std::chrono::seconds(at)) - std::chrono::floor<milliseconds>(now.time_since_epoch());
  return std::max(milliseconds(0), wait);
}
}  // namespace net
PENSTOCK_END
