#pragma once
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <penstock/core/bytes.hpp>
#include <penstock/core/result.hpp>
#include <penstock/net/http_response.hpp>

PENSTOCK_BEGIN
namespace net {
/// One attempt, as it goes out. The URL is percent-encoded ASCII.
struct http_request {
  std::string method = "GET";
  std::string url{};
  std::vector<header> headers{};

  [[nodiscard]] std::string_view get(std::string_view name) const noexcept {
    for (auto const& h : headers)
      if (h.name == name) return h.value;
    return {};
  }
};

/// Puts credentials on requests. Shared by all objects of one store.
///
/// @threads any, at the same time: each lane asks right before each attempt
class authorizer {
 public:
  virtual ~authorizer() = default;
  /// Adds what the store wants to see, for this attempt. May add headers and extend the query.
  virtual result<void> authorize(http_request& request) = 0;
  /// The store refused the credentials (401, 403). @returns whether others can be had, so that one more attempt is due
  virtual bool renew(int status, std::string_view store_code) {
    static_cast<void>(status), static_cast<void>(store_code);
    return false;
  }
  /// For the message of a refusal: which credentials were used, from where, and what may be wrong. Never a secret.
  [[nodiscard]] virtual std::string explain() const { return {}; }
};

/// One object at a URL, as it was when first seen. Models `pinned_object`.
class http_object {
 public:
  /// @param url    percent-encoded, without credential
  /// @param shown  the name for messages
  /// @param etag   with quotes; empty where the store has none
  http_object(std::string url, std::string shown, bytes size, std::string etag, std::shared_ptr<authorizer> signer)
      : url_(std::move(url)),
        shown_(std::move(shown)),
        etag_(std::move(etag)),
        size_(size),
        signer_(std::move(signer)) {}

  [[nodiscard]] bytes size() const noexcept { return size_; }
  [[nodiscard]] std::string version() const { return etag_; }
  [[nodiscard]] std::string const& url() const noexcept { return url_; }
  [[nodiscard]] std::string const& shown() const noexcept { return shown_; }
  [[nodiscard]] std::string const& etag() const noexcept { return etag_; }
  /// May be null: nothing is added.
  [[nodiscard]] std::shared_ptr<authorizer> const& signer() const noexcept { return signer_; }

 private:
  std::string url_, shown_, etag_;
  bytes size_;
  std::shared_ptr<authorizer> signer_;
};
}  // namespace net
PENSTOCK_END
