#pragma once
#include <cstdlib>
#include <set>

#include <penstock/net/fetch.hpp>
#include <penstock/net/text.hpp>
#include <penstock/net/url.hpp>
#include <penstock/storage/azure_blob.hpp>
#include <penstock/storage/azure_listing.hpp>

PENSTOCK_BEGIN
namespace storage {
/// A root, and how to reach it.
struct azure_blob::place {
  azure_location at;
  azure_access access;
  std::string shown;  ///< the root as it was given, without final slash

  [[nodiscard]] std::string container_url() const { return access.endpoint + "/" + net::percent_encode(at.container); }
  [[nodiscard]] std::string url(std::string const& name) const {
    return container_url() + "/" + net::percent_encode(at.prefix() + name);
  }
};

namespace azure_detail {
/// A HEAD of a directory succeeds in accounts with a hierarchical namespace.
inline bool is_directory(net::response_head const& head) {
  if (head.get("x-ms-resource-type") == "directory") return true;
  for (auto const& h : head.headers())
    if (h.name == "x-ms-meta-hdi_isfolder") return net::detail::lower(h.value) == "true";
  return false;
}

inline error lies(std::string const& shown, error_kind kind, std::string text) {
  error_context where;
  where.uri = shown;
  return error{kind, shown + ": " + std::move(text), std::move(where)};
}

/// The answer to a HEAD as an object.
inline result<net::http_object> pinned(net::small_request const& asked, net::response_head const& head) {
  auto const size = head.content_length();
  if (!size || head.status() != 200)
    return lies(asked.shown, error_kind::io,
                "expected the size of the object, found none; check that the endpoint is Azure Blob Storage");
  if (auto const coding = head.get("content-encoding"); coding && net::detail::lower(*coding) != "identity")
    return lies(asked.shown, error_kind::format,
                "expected the bytes as they are, found an object stored with Content-Encoding " +
                    std::string(coding->substr(0, 32)) + "; upload it without");
  bool const none = head.etag().empty();
  if (none || head.contradicts_itself("etag"))
    return lies(asked.shown, error_kind::io,
                std::string("expected one ETag, which says the version of the object, found ") +
                    (none ? "none" : "two that differ") + "; read from a server that sends it");
  return net::http_object(asked.url, asked.shown, *size, net::quoted_etag(head.etag()), asked.signer);
}
}  // namespace azure_detail

PENSTOCK_INLINE azure_blob::azure_blob(azure_options o) : options_(std::move(o)) {
  if (options_.environment) environment_ = azure_environment([](char const* name) { return std::getenv(name); });
}

PENSTOCK_INLINE result<azure_blob::place> azure_blob::find(uri const& root) const {
  auto at = locate_azure(root);
  if (!at) return std::move(at).error();
  auto access = resolve_azure(*at, options_.account, environment_);
  if (!access) {
    auto e = std::move(access).error();
    e.where().uri = root.shown();
    return e;
  }
  auto shown = root.shown();
  while (shown.ends_with('/') && !shown.ends_with("://")) shown.pop_back();
  return place{*std::move(at), *std::move(access), std::move(shown)};
}

PENSTOCK_INLINE result<std::vector<azure_blob::object>> azure_blob::pin(uri const& root,
                                                                        std::span<std::string const> names,
                                                                        std::stop_token const& stop) {
  auto const where = find(root);
  if (!where) return where.error();
  std::vector<net::small_request> requests;
  for (auto const& name : names)
    requests.push_back({"HEAD", where->url(name), where->shown + "/" + name, where->access.signer, bytes{0}});
  auto answers = net::fetch(requests, options_.http, 16, stop);

  std::vector<object> objects;
  std::vector<std::string> missing;
  std::unique_ptr<error> first_missing;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    auto& a = answers[i];
    bool const directory = a && azure_detail::is_directory(a->head);
    if (directory || (!a && a.error().kind() == error_kind::not_found)) {
      if (!directory && !first_missing) first_missing = std::make_unique<error>(a.error());
      missing.push_back(names[i] + (directory ? " (a directory)" : ""));
      continue;
    }
    if (!a) return std::move(a).error();
    auto o = azure_detail::pinned(requests[i], a->head);
    if (!o) return std::move(o).error();
    objects.push_back(*std::move(o));
  }
  if (missing.empty()) return objects;
  std::string text =
      where->shown + ": expected " + std::to_string(names.size()) +
      (names.size() == 1 ? " object, missing: " : " objects, missing " + std::to_string(missing.size()) + ": ");
  for (std::size_t i = 0; i < missing.size(); ++i) text += (i ? ", " : "") + missing[i];
  auto context = first_missing ? first_missing->where() : error_context{};
  if (!context.store_code.empty()) text += " (" + context.store_code + ")";
  context.uri = where->shown;
  return error{error_kind::not_found, std::move(text) + "; check the path, or upload what is missing",
               std::move(context)};
}

PENSTOCK_INLINE result<std::vector<stored_object>> azure_blob::list(uri const& root, std::stop_token const& stop) {
  auto const where = find(root);
  if (!where) return where.error();
  auto const prefix = where->at.prefix();
  auto const url = where->container_url() + "?restype=container&comp=list&prefix=" + net::percent_encode_value(prefix) +
                   "&include=metadata&maxresults=5000";
  std::vector<stored_object> files;
  std::set<std::string> markers;
  for (std::string marker;;) {
    net::small_request r{"GET", url, where->shown, where->access.signer, mebibytes(16)};
    if (!marker.empty()) r.url += "&marker=" + net::percent_encode_value(marker);
    auto const answer = net::fetch(r, options_.http, stop);
    if (!answer) return answer.error();
    auto page = parse_azure_page(answer->body);
    if (!page) return azure_detail::lies(where->shown, page.error().kind(), page.error().message());
    for (auto& f : page->files) {
      if (!f.name.starts_with(prefix)) continue;  // a store that takes the prefix for something else
      f.name.erase(0, prefix.size());
      bool const mark = f.name.empty() || (f.size == bytes{0} && f.name.ends_with('/'));
      if (!mark) files.push_back(std::move(f));
    }
    if (page->next.empty()) break;
    marker = std::move(page->next);
    if (!markers.insert(marker).second)
      return azure_detail::lies(
          where->shown, error_kind::io,
          "expected another page of the listing, found one that was there already; check the endpoint");
  }
  if (files.empty())
    return azure_detail::lies(where->shown, error_kind::not_found,
                              "expected objects below this path, found none; check container and path");
  return files;
}

PENSTOCK_INLINE result<std::unique_ptr<azure_blob::lane>> azure_blob::open_lane(std::span<object const> objects,
                                                                                unsigned index, unsigned depth) {
  return lane::open(objects, options_.http, index, depth);
}

PENSTOCK_INLINE storage_traits azure_blob::traits() const noexcept {
  storage_traits t;
  t.gap = mebibytes(1);
  t.bandwidth = mebibytes(100);  // of a connection; so a request costs 10 ms
  t.lanes = 1;
  t.depth = options_.depth;
  t.transport_per_read = kibibytes(512 + 16);
  return t;
}

static_assert(penstock::detail::check_storage<azure_blob>());
}  // namespace storage
PENSTOCK_END
