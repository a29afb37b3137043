#include <penstock/net/retry.hpp>

#include <boost/test/unit_test.hpp>

using namespace penstock;
using namespace penstock::net;
using namespace std::chrono_literals;
using std::chrono::milliseconds;

namespace {
using clock_type = retry_state::clock;
std::optional<milliseconds> hint(std::string_view line, std::chrono::system_clock::time_point now = {}) {
  response_head h;
  h.take_line("HTTP/1.1 503 X\r\n");
  h.take_line(std::string(line) + "\r\n");
  h.take_line("\r\n");
  return retry_hint(h, now);
}
}  // namespace

BOOST_AUTO_TEST_SUITE(net_retry)

BOOST_AUTO_TEST_CASE(delays_stay_between_base_and_cap_and_attempts_are_counted) {
  retry_policy const p;
  for (unsigned seed = 1; seed < 200; ++seed) {
    std::minstd_rand random(seed);
    retry_state s;
    milliseconds last{0};
    for (unsigned n = 1; n < p.attempts; ++n) {
      auto const d = s.failed(p, clock_type::time_point{}, false, std::nullopt, random);
      BOOST_TEST_REQUIRE(d.has_value());
      BOOST_TEST((*d >= p.base && *d <= p.cap && *d <= std::max(p.base, 3 * last)));
      last = *d;
    }
    BOOST_TEST(!s.failed(p, clock_type::time_point{}, false, std::nullopt, random));
    BOOST_TEST(s.failures() == p.attempts);
  }
}

BOOST_AUTO_TEST_CASE(throttled_requests_wait_longer) {
  retry_policy const p;
  std::minstd_rand random(1);
  retry_state s;
  BOOST_TEST((s.failed(p, {}, true, std::nullopt, random) == p.throttled_base));
}

BOOST_AUTO_TEST_CASE(the_stores_wish_is_honoured_up_to_a_cap) {
  retry_policy const p;
  std::minstd_rand random(1);
  retry_state s;
  BOOST_TEST((s.failed(p, {}, true, 1500ms, random) == 1500ms));
  BOOST_TEST((s.failed(p, {}, true, 3600s, random) == p.hint_cap));
  BOOST_TEST((s.failed(p, {}, true, 0ms, random) == 0ms));
}

BOOST_AUTO_TEST_CASE(time_is_limited_from_the_first_failure) {
  retry_policy const p;
  std::minstd_rand random(1);
  retry_state s;
  clock_type::time_point const begin{};
  BOOST_TEST(s.failed(p, begin, false, std::nullopt, random).has_value());
  BOOST_TEST(s.failed(p, begin + p.time - 30s, false, 20s, random).has_value());
  BOOST_TEST(!s.failed(p, begin + p.time - 30s, false, 31s, random).has_value());
}

BOOST_AUTO_TEST_CASE(a_mebibyte_of_progress_makes_failures_forgotten) {
  retry_policy p;
  p.attempts = 3;
  std::minstd_rand random(1);
  retry_state s;
  for (int n = 0; n < 20; ++n) {
    for (int part = 0; part < 2; ++part) s.progressed(kibibytes(512), p);
    BOOST_TEST(s.failed(p, clock_type::time_point{} + std::chrono::hours(n), false, std::nullopt, random).has_value());
  }
  BOOST_TEST(s.failures() == 20U);
  s.progressed(mebibytes(1), p);
  BOOST_TEST(s.recent_failures() == 0U);
  s.progressed(kibibytes(1023), p);
  BOOST_TEST(s.failed(p, {}, false, std::nullopt, random).has_value());
  BOOST_TEST(s.failed(p, {}, false, std::nullopt, random).has_value());
  BOOST_TEST(!s.failed(p, {}, false, std::nullopt, random).has_value());
}

BOOST_AUTO_TEST_CASE(hints_come_in_four_forms) {
  BOOST_TEST((hint("retry-after-ms: 250") == 250ms));
  BOOST_TEST((hint("x-ms-retry-after-ms: 50") == 50ms));
  BOOST_TEST((hint("Retry-After: 7") == 7s));
  auto const date = std::chrono::system_clock::from_time_t(1435361952);  // Fri, 26 Jun 2015 23:39:12 GMT
  BOOST_TEST((hint("Retry-After: Fri, 26 Jun 2015 23:39:12 GMT", date - 3s) == 3s));
  BOOST_TEST((hint("Retry-After: Fri, 26 Jun 2015 23:39:12 GMT", date + 3s) == 0ms));
  BOOST_TEST((hint("Retry-After: Fri, 26 Jun 4015 23:39:12 GMT", date) > 24h * 365 * 1999));  // no year is too far
  for (auto const* line : {"Retry-After: soon", "Retry-After: -1", "Retry-After:", "X: 1"})
    BOOST_TEST(!hint(line).has_value(), line);
}

BOOST_AUTO_TEST_CASE(only_faults_that_may_pass_are_tried_again) {
  for (int s : {408, 429, 500, 502, 503, 504, 599}) BOOST_TEST(worth_a_retry(s));
  for (int s : {200, 206, 301, 400, 401, 403, 404, 409, 412, 416, 501, 505}) BOOST_TEST(!worth_a_retry(s));
  BOOST_TEST((is_throttling(429) && is_throttling(503) && !is_throttling(500)));
}

BOOST_AUTO_TEST_SUITE_END()
