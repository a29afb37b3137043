#pragma once
#include <functional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include <penstock/core/result.hpp>
#include <penstock/core/separate.hpp>
#include <penstock/net/fetch.hpp>
#include <penstock/net/http_request.hpp>
#include <penstock/storage/backend.hpp>

PENSTOCK_BEGIN
namespace storage {
// What the stores over HTTP have in common. For backends.

/// All of some objects below a root, or what is missing.
///
/// @param names    of the objects, in the order of the answers
/// @param answers  not_found: it is missing; where the store did not say so itself (no HTTP status), its message says what is
///                 there instead, such as a directory
/// @errors not_found: names all that are missing; else the first error
result<std::vector<net::http_object>> all_of(std::string const& shown, std::span<std::string const> names,
                                             std::vector<result<net::http_object>> answers);

/// Asks with HEAD about objects, up to 16 at the same time, and makes objects of the answers.
template <class Judge>
std::vector<result<net::http_object>> heads_of(std::span<net::small_request const> requests,
                                               net::http_options const& http, std::stop_token const& stop,
                                               Judge const& judge) {
  auto answers = net::fetch(requests, http, 16, stop);
  std::vector<result<net::http_object>> objects;
  objects.reserve(answers.size());
  for (std::size_t i = 0; i < answers.size(); ++i)
    if (answers[i]) objects.push_back(judge(requests[i], answers[i]->head));
    else objects.push_back(std::move(answers[i]).error());
  return objects;
}

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
/// @param holder  what all is in, for messages: "container"
/// @param page    asks for one page; its argument is `next` of the one before, at first empty
/// @errors not_found: nothing is there; io: a page comes again; as `page`
result<std::vector<stored_object>> list_all(std::string const& shown, std::string const& prefix, char const* holder,
                                            std::function<result<object_page>(std::string const&)> const& page);

/// One lane, which keeps `depth` reads outstanding, each on a connection of about 100 MiB/s.
storage_traits traits_over_http(unsigned depth) noexcept;

/// An error about a place, with its name in front.
error about(std::string const& shown, error_kind kind, std::string text);
}  // namespace storage
PENSTOCK_END

#ifndef PENSTOCK_SEPARATE_COMPILATION
#  include <penstock/storage/http_objects.ipp>
#endif
