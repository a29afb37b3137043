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
  std::string body{};
  u64 credential = 0;  ///< which of the signer's credentials it was signed with

  [[nodiscard]] std::string_view get(std::string_view name) const noexcept {
    for (auto const& h : headers)
      if (h.name == name) return h.value;
    return {};
  }
};

/// An answer that refuses a request, for the signer to see whether it can do better.
struct refusal {
  response_head const& head;
  std::string_view code;  ///< the store's own name for it; empty: none
  std::string_view body;
  u64 credential;  ///< as the request had it
};

/// Puts credentials on requests. Shared by all objects of one store.
///
/// @threads any, at the same time: each lane asks right before each attempt
class authorizer {
 public:
  virtual ~authorizer() = default;
  /// Adds what the store wants to see, for this attempt. May add headers and extend the query.
  virtual result<void> authorize(http_request& request) = 0;
  /// The store refused (3xx, 4xx), for the first time in this request.
  /// @returns whether the next attempt will be authorised in another way, so that it is due at once
  virtual bool renew(refusal const& r) {
    static_cast<void>(r);
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
  /// Of a server without ETags: the text of `Last-Modified`, which has the place of a version.
  http_object& modified(std::string when) {
    modified_ = std::move(when);
    return *this;
  }
  /// Of a server without ranges: each read gets the object from its beginning and lets go of what it does not want.
  http_object& without_ranges() {
    ranges_ = false;
    return *this;
  }

  [[nodiscard]] bytes size() const noexcept { return size_; }
  [[nodiscard]] std::string version() const { return etag_.empty() ? modified_ : etag_; }
  [[nodiscard]] std::string const& url() const noexcept { return url_; }
  [[nodiscard]] std::string const& shown() const noexcept { return shown_; }
  [[nodiscard]] std::string const& etag() const noexcept { return etag_; }
  [[nodiscard]] std::string const& modified() const noexcept { return modified_; }
  [[nodiscard]] bool has_ranges() const noexcept { return ranges_; }
  /// May be null: nothing is added.
  [[nodiscard]] std::shared_ptr<authorizer> const& signer() const noexcept { return signer_; }

 private:
  std::string url_, shown_, etag_, modified_;
  bytes size_;
  bool ranges_ = true;
  std::shared_ptr<authorizer> signer_;
};
}  // namespace net
PENSTOCK_END
