#pragma once
#include <chrono>
#include <optional>
#include <random>

#include <penstock/core/separate.hpp>
#include <penstock/net/http_options.hpp>
#include <penstock/net/http_response.hpp>

PENSTOCK_BEGIN
namespace net {
/// The failures of one request, and how long to wait after each: decorrelated jitter.
///
/// @threads one
class retry_state {
 public:
  using clock = std::chrono::steady_clock;

  /// Bytes that arrived and count. Enough of them make the failures so far forgotten.
  void progressed(bytes n, retry_policy const& policy) noexcept;
  /// One more attempt failed.
  ///
  /// @param throttled  the store asked us to slow down
  /// @param hint       the delay that the store asked for
  /// @returns          the delay before the next attempt; nothing when attempts or time are used up
  std::optional<std::chrono::milliseconds> failed(retry_policy const& policy, clock::time_point now, bool throttled,
                                                  std::optional<std::chrono::milliseconds> hint,
                                                  std::minstd_rand& random);

  /// Failures since the request began, and since the last progress.
  [[nodiscard]] u32 failures() const noexcept { return all_; }
  [[nodiscard]] u32 recent_failures() const noexcept { return recent_; }

 private:
  u32 all_ = 0, recent_ = 0;
  bytes fresh_{};
  std::chrono::milliseconds last_{0};
  clock::time_point first_{};
};

/// `Fri, 24 May 2013 00:00:00 GMT`. @returns nothing for another text or a year outside 1970 to 2200
std::optional<std::chrono::system_clock::time_point> parse_http_date(std::string_view value);

/// The delay that a store asks for: `retry-after-ms`, `x-ms-retry-after-ms`, `x-amz-retry-after`, or `Retry-After` in seconds or as a date.
///
/// @returns nothing where there is no such header, or one that makes no sense; zero for a date that is over
/// @source  RFC 9110, section 10.2.3
std::optional<std::chrono::milliseconds> retry_hint(response_head const& head,
                                                    std::chrono::system_clock::time_point now);

/// Is this status worth another attempt? 408, 429, and 5xx other than 501 and 505.
constexpr bool worth_a_retry(int status) noexcept {
  return status == 408 || status == 429 || (status >= 500 && status != 501 && status != 505);
}
constexpr bool is_throttling(int status) noexcept { return status == 429 || status == 503; }
}  // namespace net
PENSTOCK_END

#ifndef PENSTOCK_SEPARATE_COMPILATION
#  include <penstock/net/retry.ipp>
#endif
