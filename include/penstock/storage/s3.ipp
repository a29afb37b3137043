#pragma once
#include <penstock/net/fetch.hpp>
#include <penstock/net/url.hpp>
#include <penstock/storage/http_objects.hpp>
#include <penstock/storage/s3.hpp>
#include <penstock/storage/s3_listing.hpp>

PENSTOCK_BEGIN
namespace storage {
/// A root, and how to reach it.
struct s3::place {
  s3_location at;
  s3_access access;
  std::string shown;  ///< the root as it was given, without final slash

  [[nodiscard]] std::string url(std::string const& name) const {
    return access.bucket_url + "/" + net::percent_encode(at.prefix() + name);
  }
};

namespace s3_detail {
/// Asks, unsigned, where a bucket of AWS is: each region's endpoint knows. @returns nothing where it does not say
inline std::string region_of_bucket(std::string const& bucket_url, net::http_options const& http,
                                    std::stop_token const& stop) {
  net::small_request r{"HEAD", bucket_url, bucket_url, nullptr, bytes{0}};
  r.any_status = true;
  auto const answer = net::fetch(r, http, stop);
  auto const region = answer ? answer->head.get("x-amz-bucket-region") : std::nullopt;
  return region && is_aws_region(*region) ? std::string(*region) : std::string();
}
}  // namespace s3_detail

PENSTOCK_INLINE result<s3::place> s3::find(uri const& root, std::stop_token const& stop) {
  auto at = locate_s3(root);
  if (!at) return std::move(at).error();
  auto shown = root.shown();
  while (shown.ends_with('/') && !shown.ends_with("://")) shown.pop_back();
  auto const key = at->endpoint + " " + at->region + " " + at->bucket;
  auto known = known_.find(key);
  if (known == known_.end()) {
    auto const machine = options_.environment ? net::surroundings::of_this_process() : net::surroundings::nothing();
    auto access = resolve_s3(*at, options_.account, machine, options_.http);
    if (access && access->discover)
      if (auto const region = s3_detail::region_of_bucket(access->bucket_url, options_.http, stop);
          !region.empty() && region != access->region) {
        auto there = *at;
        there.region = region;
        access = resolve_s3(there, options_.account, machine, options_.http);
      }
    if (!access) {
      auto e = std::move(access).error();
      e.where().uri = root.shown();
      return e;
    }
    known = known_.emplace(key, *std::move(access)).first;
  }
  return place{*std::move(at), known->second, std::move(shown)};
}

PENSTOCK_INLINE result<std::vector<s3::object>> s3::pin(uri const& root, std::span<std::string const> names,
                                                        std::stop_token const& stop) {
  auto const where = find(root, stop);
  if (!where) return where.error();
  std::vector<net::small_request> requests;
  for (auto const& name : names)
    requests.push_back({"HEAD", where->url(name), where->shown + "/" + name, where->access.signer, bytes{0}});
  auto const ask = [&] {
    auto const judge = [](auto const& asked, auto const& head) { return pinned_by_etag(asked, head, "an S3 service"); };
    return all_of(where->shown, names, heads_of(requests, options_.http, stop, judge));
  };
  auto pinned = ask();
  if (pinned || names.empty()) return pinned;
  auto const& why = pinned.error().where();
  if (!why.store_code.empty() || why.http_status < 300 || why.http_status == 404 || why.http_status >= 500)
    return pinned;
  // An answer to HEAD cannot say why it refuses. One to GET does, and the signer may learn from it.
  auto asked = requests.front();
  asked.method = "GET";
  asked.headers = {{"Range", "bytes=0-0"}};
  asked.head_alone = true;
  if (auto const told = net::fetch(asked, options_.http, stop); !told) return told.error();
  return ask();
}

PENSTOCK_INLINE result<std::vector<stored_object>> s3::list(uri const& root, std::stop_token const& stop) {
  auto const where = find(root, stop);
  if (!where) return where.error();
  auto const prefix = where->at.prefix();
  // Parameters in the order that the signature wants.
  auto const query = "encoding-type=url&list-type=2&prefix=" + net::percent_encode_value(prefix);
  return list_all(where->shown, prefix, "bucket", [&](std::string const& token) -> result<object_page> {
    net::small_request r{"GET", where->access.bucket_url + "/?", where->shown, where->access.signer, mebibytes(16)};
    if (!token.empty()) r.url += "continuation-token=" + net::percent_encode_value(token) + "&";
    r.url += query;
    auto const answer = net::fetch(r, options_.http, stop);
    if (!answer) return answer.error();
    auto page = parse_s3_page(answer->body);
    if (!page) return about(where->shown, page.error().kind(), page.error().message());
    return page;
  });
}

PENSTOCK_INLINE result<std::unique_ptr<s3::lane>> s3::open_lane(std::span<object const> objects, unsigned index,
                                                                unsigned depth) {
  return lane::open(objects, options_.http, index, depth);
}

PENSTOCK_INLINE storage_traits s3::traits() const noexcept { return traits_over_http(options_.depth); }

static_assert(penstock::detail::check_storage<s3>());
}  // namespace storage
PENSTOCK_END
