#pragma once
#include <chrono>
#include <string>

#include <penstock/core/bytes.hpp>

PENSTOCK_BEGIN
namespace net {
/// How often and how long one range is tried again. Attempts and time start anew after `progress` bytes have arrived.
struct retry_policy {
  u32 attempts = 10;                               ///< in all, the first one included
  std::chrono::milliseconds time{180'000};         ///< since the first failure
  std::chrono::milliseconds base{100};             ///< shortest delay
  std::chrono::milliseconds throttled_base{1000};  ///< shortest delay after 429 and 503
  std::chrono::milliseconds cap{20'000};           ///< longest delay of our own choice
  std::chrono::milliseconds hint_cap{60'000};      ///< longest delay that the store may ask for
  bytes progress = mebibytes(1);
};

/// How one talks to any HTTP store.
struct http_options {
  retry_policy retry{};
  std::chrono::milliseconds connect{5000};       ///< until a connection stands, TLS included
  std::chrono::milliseconds first_byte{10'000};  ///< from the request to the first byte of the answer
  std::chrono::milliseconds stall{10'000};       ///< a body must bring `stall_rate` a second over this time
  bytes stall_rate = kibibytes(16);
  std::string ca_file{};  ///< PEM; empty: CURL_CA_BUNDLE, SSL_CERT_FILE, then the system's
};
}  // namespace net
PENSTOCK_END
