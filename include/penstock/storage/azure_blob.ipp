#pragma once
#include <cstdlib>

#include <penstock/net/fetch.hpp>
#include <penstock/net/text.hpp>
#include <penstock/net/url.hpp>
#include <penstock/storage/azure_blob.hpp>
#include <penstock/storage/azure_listing.hpp>
#include <penstock/storage/http_objects.hpp>

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
  auto const judge = [](auto const& asked, auto const& head) -> result<net::http_object> {
    if (azure_detail::is_directory(head)) return error{error_kind::not_found, "a directory"};
    return pinned_by_etag(asked, head, "Azure Blob Storage");
  };
  return all_of(where->shown, names, heads_of(requests, options_.http, stop, judge));
}

PENSTOCK_INLINE result<std::vector<stored_object>> azure_blob::list(uri const& root, std::stop_token const& stop) {
  auto const where = find(root);
  if (!where) return where.error();
  auto const prefix = where->at.prefix();
  auto const url = where->container_url() + "?restype=container&comp=list&prefix=" + net::percent_encode_value(prefix) +
                   "&include=metadata&maxresults=5000";
  return list_all(where->shown, prefix, "container", [&](std::string const& marker) -> result<object_page> {
    net::small_request r{"GET", url, where->shown, where->access.signer, mebibytes(16)};
    if (!marker.empty()) r.url += "&marker=" + net::percent_encode_value(marker);
    auto const answer = net::fetch(r, options_.http, stop);
    if (!answer) return answer.error();
    auto page = parse_azure_page(answer->body);
    if (!page) return about(where->shown, page.error().kind(), page.error().message());
    return page;
  });
}

PENSTOCK_INLINE result<std::unique_ptr<azure_blob::lane>> azure_blob::open_lane(std::span<object const> objects,
                                                                                unsigned index, unsigned depth) {
  return lane::open(objects, options_.http, index, depth);
}

PENSTOCK_INLINE storage_traits azure_blob::traits() const noexcept { return traits_over_http(options_.depth); }

static_assert(penstock::detail::check_storage<azure_blob>());
}  // namespace storage
PENSTOCK_END
