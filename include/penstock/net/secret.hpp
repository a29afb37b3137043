#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <penstock/core/config.hpp>
#include <penstock/core/separate.hpp>

PENSTOCK_BEGIN
namespace net {
/// Bytes of a secret: wiped when they go, and nothing prints them.
class secret {
 public:
  secret() = default;
  explicit secret(std::string_view text) : bytes_(text.begin(), text.end()) {}
  secret(secret&&) noexcept = default;
  secret& operator=(secret&& o) noexcept {
    std::swap(bytes_, o.bytes_);
    return *this;
  }
  ~secret();

  [[nodiscard]] std::string_view reveal() const& noexcept { return {bytes_.data(), bytes_.size()}; }
  void reveal() && = delete;

 private:
  std::vector<char> bytes_;
};

/// @returns nothing for a text that is no base64, with its padding
std::optional<secret> base64_decode(std::string_view text);
std::string base64_encode(std::string_view bytes);
}  // namespace net
PENSTOCK_END

#ifndef PENSTOCK_SEPARATE_COMPILATION
#  include <penstock/net/secret.ipp>
#endif
