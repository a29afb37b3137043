#pragma once
#include <optional>
#include <string>
#include <string_view>

#include <penstock/core/error.hpp>
#include <penstock/core/separate.hpp>
#include <penstock/net/http_response.hpp>

PENSTOCK_BEGIN
namespace net {
/// The store's own name for what went wrong: from its header, or from `<Code>` of its XML body.
///
/// @returns letters and digits only, since it goes into messages; empty where there is none
std::string store_code(response_head const& head, std::string_view body);

/// The store's name for this one request, which its support asks for; letters, digits and `-` only.
std::string request_id_of(response_head const& head);

/// The kind of error that a status stands for when it is not tried again.
error_kind kind_of(int status, std::string_view code) noexcept;

/// An answer that is an error, as an error: what the store said and what to do.
///
/// @param shown     the object's name for messages
/// @param expected  the pinned size, where a range of a pinned object was asked for
/// @param explain   what the authorizer says of its credentials
error refused(response_head const& head, std::string_view body, std::string_view shown, std::optional<bytes> expected,
              std::string_view explain);
}  // namespace net
PENSTOCK_END

#ifndef PENSTOCK_SEPARATE_COMPILATION
#  include <penstock/net/http_failure.ipp>
#endif
