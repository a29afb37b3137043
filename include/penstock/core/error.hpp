#pragma once
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <penstock/core/bytes.hpp>

PENSTOCK_BEGIN
/// What kind of thing went wrong. Stable across releases, safe to switch on.
enum class error_kind : u8 {
  usage,      ///< a wrong option or URI, or a part that is not in this build
  format,     ///< a file's bytes are wrong
  config,     ///< JSON beside the weights is wrong or contradicts itself or the tensors
  plan,       ///< this topology, map, scheme or budget cannot be
  not_found,  ///< no such object
  access,     ///< credentials or permission
  transient,  ///< retries used up
  changed,    ///< another version than the one first seen
  memory,     ///< host or device memory cannot be had
  io,         ///< the operating system or a protocol says no
  peer,       ///< another rank failed
  cancelled,  ///< stopped on request
};

constexpr std::string_view name_of(error_kind k) noexcept {
  constexpr std::string_view names[] = {"usage",     "format",  "config", "plan", "not_found", "access",
                                        "transient", "changed", "memory", "io",   "peer",      "cancelled"};
  return names[static_cast<unsigned>(k)];
}

/// What is known about where and how something went wrong. Never holds a credential.
struct error_context {
  std::string uri{};     ///< of the object, without query
  std::string tensor{};  ///< checkpoint name
  std::optional<byte_range> range{};
  u32 attempts = 0;          ///< 0: not a matter of attempts
  int http_status = 0;       ///< 0: none
  std::string store_code{};  ///< the store's own name for it, e.g. BlobNotFound
  std::string request_id{};
  int rank = -1;  ///< -1: not a matter of ranks
};

/// Why something could not be done: what was expected, what was found, what to do.
///
/// A value; `result<T>::value()` throws it, hence the base class.
class error : public std::exception {
 public:
  error(error_kind kind, std::string message, error_context where = {})
      : kind_(kind), message_(std::move(message)), where_(std::move(where)) {}

  [[nodiscard]] error_kind kind() const noexcept { return kind_; }
  [[nodiscard]] std::string const& message() const noexcept { return message_; }
  [[nodiscard]] error_context const& where() const noexcept { return where_; }
  [[nodiscard]] error_context& where() noexcept { return where_; }
  char const* what() const noexcept override { return message_.c_str(); }

 private:
  error_kind kind_;
  std::string message_;
  error_context where_;
};
PENSTOCK_END
