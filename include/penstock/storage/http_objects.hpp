#pragma once
#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <variant>
#include <vector>

#include <penstock/core/result.hpp>
#include <penstock/core/separate.hpp>
#include <penstock/net/fetch.hpp>
#include <penstock/net/http_request.hpp>
#include <penstock/storage/backend.hpp>

PENSTOCK_BEGIN
namespace storage {
// What the stores over HTTP have in common. For backends.

/// A question about each of some objects below a root, to be pinned.
struct http_pins {
  std::string shown;  ///< the root, for messages, without final slash
  std::span<std::string const> names;
  std::vector<net::small_request> requests{};  ///< HEAD, in the order of the names
  /// The answer as an object; a text: it is there but none, such as a directory.
  std::function<std::variant<result<net::http_object>, std::string>(net::small_request const&,
                                                                    net::response_head const&)>
      judge{};
};

/// Asks about all, up to 16 at the same time.
///
/// @errors not_found: names all that are missing; else the first error
result<std::vector<net::http_object>> pin_all(http_pins const& pins, net::http_options const& http,
                                              std::stop_token const& stop);

/// The answer to a HEAD as an object: its size, and its version by ETag.
///
/// @param store  for messages: what should answer
/// @errors io: no size, or no ETag or two; format: stored with a Content-Encoding
result<net::http_object> pinned_by_etag(net::small_request const& asked, net::response_head const& head,
                                        char const* store);

/// One page of a listing: objects with names relative to the root, and what asks for the next page; empty: it was the last.
struct object_page {
  std::vector<stored_object> files;
  std::string next;
};

/// Pages until the last. Names that are not below `prefix`, and marks of directories, are left out.
///
/// @param page  asks for one page; its argument is `next` of the one before, at first empty
/// @errors not_found: nothing is there; io: a page comes again; as `page`
result<std::vector<stored_object>> list_all(std::string const& shown, std::string const& prefix,
                                            std::function<result<object_page>(std::string const&)> const& page);

/// An error about a place, with its name in front.
error about(std::string const& shown, error_kind kind, std::string text);
}  // namespace storage
PENSTOCK_END

#ifndef PENSTOCK_SEPARATE_COMPILATION
#  include <penstock/storage/http_objects.ipp>
#endif
