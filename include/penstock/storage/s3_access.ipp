#pragma once
#include <penstock/net/resolve.hpp>
#include <penstock/net/retry.hpp>
#include <penstock/net/text.hpp>
#include <penstock/net/url.hpp>
#include <penstock/storage/s3_access.hpp>

PENSTOCK_BEGIN
namespace storage {
namespace s3_detail {
/// SHA-256 of no bytes: no request to S3 has a body.
inline constexpr std::string_view hash_of_nothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

inline std::string element(std::string_view xml, std::string_view name) {
  auto const open = "<" + std::string(name) + ">";
  auto const begin = xml.find(open), end = xml.find("</" + std::string(name) + ">");
  if (begin == xml.npos || end == xml.npos || end < begin + open.size()) return {};
  return std::string(xml.substr(begin + open.size(), end - begin - open.size()));
}

/// What the environment and the profile say beside the credentials.
class surrounding_settings {
 public:
  surrounding_settings(net::surroundings const& machine, net::aws_profiles const& profiles, std::string const& profile)
      : machine_(machine), profiles_(profiles), profile_(profiles.find(profile)) {}

  [[nodiscard]] std::string region() const {
    auto r = machine_.first({"AWS_REGION", "AWS_DEFAULT_REGION"});
    return r.empty() ? of_profile("region") : r;
  }
  [[nodiscard]] std::string endpoint() const {
    if (machine_.says_yes("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS")) return {};
    auto e = machine_.first({"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"});
    if (e.empty())
      if (auto const* const s = profiles_.services(of_profile("services")))
        if (auto const it = s->find("s3.endpoint_url"); it != s->end()) e = it->second;
    return e.empty() ? of_profile("endpoint_url") : e;
  }
  [[nodiscard]] std::string addressing() const { return of_profile("s3.addressing_style"); }
  [[nodiscard]] bool dual_stack() const {
    return machine_.says_yes("AWS_USE_DUALSTACK_ENDPOINT") || of_profile("use_dualstack_endpoint") == "true";
  }

 private:
  [[nodiscard]] std::string of_profile(char const* key) const {
    if (!profile_) return {};
    auto const it = profile_->find(key);
    return it == profile_->end() ? std::string() : it->second;
  }
  net::surroundings const& machine_;
  net::aws_profiles const& profiles_;
  net::aws_profiles::section const* profile_;
};

inline std::string without_final_slash(std::string url) {
  while (url.ends_with('/')) url.pop_back();
  return url;
}

/// A bucket at an endpoint that somebody named.
inline result<std::string> bucket_at(std::string const& endpoint, std::string const& bucket, bool virtual_host) {
  auto const url = net::split_url(endpoint);
  if (!url) return url.error();
  if (!url->query.empty())
    return error{error_kind::usage, "expected an endpoint without a query, found one; correct AWS_ENDPOINT_URL"};
  auto base = without_final_slash(endpoint);
  if (!virtual_host) return base + "/" + bucket;
  return base.insert(url->scheme.size() + 3, bucket + ".");
}
}  // namespace s3_detail

PENSTOCK_INLINE result<void> s3_authorizer::authorize(net::http_request& r) {
  if (requester_pays_) r.headers.push_back({"x-amz-request-payer", "requester"});
  if (!keys_) return {};
  auto const have = keys_->get();
  if (!have) return have.error();
  r.credential = have->number;
  r.headers.push_back({"x-amz-content-sha256", std::string(s3_detail::hash_of_nothing)});
  std::unique_lock hold(guard_);
  net::aws_scope const scope{region_};
  auto const now = std::chrono::system_clock::now() + ahead_;
  hold.unlock();
  net::sign_aws(r, *have->keys, scope, now);
  return {};
}

PENSTOCK_INLINE bool s3_authorizer::renew(net::refusal const& r) {
  int const status = r.head.status();
  if (!keys_ || status == 404 || status == 412 || status == 416) return false;
  if (r.code == "RequestTimeTooSkewed") {
    auto const date = r.head.get("date");
    auto const theirs = date ? net::parse_http_date(*date) : std::nullopt;
    if (!theirs) return false;
    std::scoped_lock const hold(guard_);
    ahead_ = *theirs - std::chrono::system_clock::now();
    return true;
  }
  if (status != 403) {  // the region of a bucket, or of a server of somebody's own
    auto const header = r.head.get("x-amz-bucket-region");
    auto const region = header ? std::string(*header) : s3_detail::element(r.body, "Region");
    std::scoped_lock const hold(guard_);
    if (is_aws_region(region) && region != region_) {
      region_ = region;
      return true;
    }
  }
  for (std::string_view stale : {"ExpiredToken", "TokenRefreshRequired", "InvalidToken", "InvalidAccessKeyId"})
    if (r.code == stale) return keys_->renew(r.credential);
  return false;
}

PENSTOCK_INLINE std::string s3_authorizer::explain() const {
  if (!keys_) return "asked without credentials";
  return "signed with the keys from " + keys_->source() + " for the region " + region();
}

PENSTOCK_INLINE std::string s3_authorizer::region() const {
  std::scoped_lock const hold(guard_);
  return region_;
}

PENSTOCK_INLINE std::string s3_bucket_url(s3_location const& where, std::string const& region, bool dual_stack,
                                          bool virtual_host) {
  std::string const tail = std::string(dual_stack ? ".dualstack." : ".") + region + ".amazonaws.com" +
                           (region.starts_with("cn-") ? ".cn" : "");
  if (where.access_point) return "https://" + where.bucket + ".s3-accesspoint" + tail;
  if (virtual_host && is_dns_bucket(where.bucket)) return "https://" + where.bucket + ".s3" + tail;
  return "https://s3" + tail + "/" + where.bucket;
}

PENSTOCK_INLINE result<s3_access> resolve_s3(s3_location const& where, s3_settings const& said,
                                             net::surroundings const& machine, net::http_options const& http) {
  auto const profiles = net::aws_profiles::read(machine);
  if (!profiles) return profiles.error();
  auto const profile = said.identity.profile.empty() ? net::aws_profile_name(machine) : said.identity.profile;
  s3_detail::surrounding_settings const around(machine, *profiles, profile);
  auto const either = [](std::string a, std::string b) { return a.empty() ? std::move(b) : std::move(a); };

  s3_access a;
  bool const of_uri = !where.region.empty();
  a.region = of_uri ? where.region : either(said.region, around.region());
  if (a.region.empty()) a.region = "us-east-1";
  if (!is_aws_region(a.region))
    return error{error_kind::usage, "expected a region such as eu-west-1, found another text; correct AWS_REGION"};
  auto const addressing = either(said.addressing, around.addressing());
  if (!addressing.empty() && addressing != "auto" && addressing != "path" && addressing != "virtual")
    return error{error_kind::usage, "expected path, virtual or auto as addressing_style, found another; correct it"};

  bool const aws = where.endpoint.empty() || where.endpoint.find(".amazonaws.com") != std::string::npos;
  auto const endpoint = where.endpoint.empty() ? either(said.endpoint, around.endpoint()) : aws ? "" : where.endpoint;
  if (endpoint.empty()) {
    a.discover = !of_uri && !where.access_point;
    a.bucket_url = s3_bucket_url(where, a.region, said.dual_stack || around.dual_stack(), addressing != "path");
  } else if (where.access_point) {
    return error{error_kind::usage,
                 "expected no endpoint of somebody's own for an access point, found one; unset AWS_ENDPOINT_URL"};
  } else {
    auto const url = net::split_url(endpoint);
    if (!url) return url.error();
    bool const named = !net::is_address(url->host) && is_dns_bucket(where.bucket);
    auto at = s3_detail::bucket_at(endpoint, where.bucket, addressing == "virtual" && named);
    if (!at) return std::move(at).error();
    a.bucket_url = *std::move(at);
  }

  auto identity = said.identity;
  identity.anonymous =
      identity.anonymous || machine.says_yes("AWS_NO_SIGN_REQUEST") || machine.says_yes("AWS_SKIP_SIGNATURE");
  auto keys = net::find_aws_credentials(identity, machine, a.region, http);
  if (!keys) return std::move(keys).error();
  bool const pays = said.requester_pays || net::detail::lower(machine.first({"AWS_REQUEST_PAYER"})) == "requester";
  a.signer = std::make_shared<s3_authorizer>(*std::move(keys), a.region, pays);
  return a;
}
}  // namespace storage
PENSTOCK_END
