#pragma once
#include <penstock/net/url.hpp>
#include <penstock/storage/s3_location.hpp>

PENSTOCK_BEGIN
namespace storage {
namespace s3_detail {
inline bool is_s3_scheme(std::string_view s) noexcept { return s == "s3" || s == "s3a" || s == "s3n"; }

inline bool is_bucket(std::string_view t) noexcept {
  if (t.empty() || t.size() > 255) return false;
  for (char c : t)
    if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9') && c != '.' && c != '_' &&
        c != '-')
      return false;
  return t != "." && t != "..";
}

inline std::pair<std::string_view, std::string_view> split_at(std::string_view text, char c) noexcept {
  auto const at = text.find(c);
  if (at == text.npos) return {text, {}};
  return {text.substr(0, at), text.substr(at + 1)};
}

inline error not_s3(uri const& where, std::string const& found) {
  return error{error_kind::usage, where.shown() +
                                      ": expected s3://BUCKET/PATH or https://BUCKET.s3.REGION.amazonaws.com/PATH, "
                                      "found " +
                                      found + "; correct the URI"};
}

/// What a host of an S3 service says: its region, and the bucket where that stands before it.
struct service_host {
  std::string region, bucket;
  bool known = false;
};

inline service_host service_of_host(std::string_view host) {
  for (std::string_view tail : {".amazonaws.com", ".amazonaws.com.cn"}) {
    if (!host.ends_with(tail)) continue;
    auto rest = host.substr(0, host.size() - tail.size());
    // [BUCKET.]s3[.dualstack][.REGION], [BUCKET.]s3-REGION; the bucket may have dots.
    service_host h;
    auto const at = rest.starts_with("s3.") || rest.starts_with("s3-") || rest == "s3" ? 0 : rest.rfind(".s3");
    if (at == rest.npos) return {};
    if (at) h.bucket = std::string(rest.substr(0, at));
    rest = rest.substr(at ? at + 3 : 2);
    if (rest.starts_with(".dualstack")) rest = rest.substr(10);
    if (!rest.empty() && rest.front() != '.' && rest.front() != '-') return {};
    if (!rest.empty()) rest = rest.substr(1);
    h.region = std::string(rest);
    h.known = rest.empty() || is_aws_region(rest);
    return h;
  }
  if (host.ends_with(".r2.cloudflarestorage.com")) return {"auto", "", true};
  if (host == "storage.googleapis.com") return {};  // Google's own interface is another store's
  return {};
}

inline result<s3_location> locate_url(uri const& where) {
  auto url = net::split_url(where.text());
  if (!url) return std::move(url).error();
  auto const h = service_of_host(url->host);
  if (!h.known) return not_s3(where, "the host " + url->host);
  if (!url->query.empty()) return not_s3(where, "a query, which a folder does not have");
  s3_location l;
  l.region = h.region;
  l.bucket = h.bucket;
  std::string_view rest = std::string_view(url->path).substr(1);
  l.endpoint = url->origin();
  if (h.bucket.empty()) {
    auto const [bucket, path] = split_at(rest, '/');
    l.bucket = std::string(bucket);
    rest = path;
  } else {
    l.endpoint.erase(url->scheme.size() + 3, h.bucket.size() + 1);
  }
  auto key = net::percent_decode(rest);
  if (!key) return std::move(key).error();
  if (net::has_control_character(*key)) return not_s3(where, "a control character in the path");
  l.path = *std::move(key);
  return l;
}

/// `arn:aws:s3:REGION:ACCOUNT:accesspoint/NAME/PATH`
inline result<s3_location> locate_access_point(uri const& where, std::string_view arn) {
  std::string_view part[5];
  for (auto& p : part) std::tie(p, arn) = split_at(arn, ':');
  auto const [kind, after] = split_at(arn, '/');
  auto const [name, path] = split_at(after, '/');
  bool const digits = part[4].find_first_not_of("0123456789") == part[4].npos && !part[4].empty();
  if (!part[1].starts_with("aws") || part[2] != "s3" || kind != "accesspoint" || !digits || !is_dns_bucket(name))
    return not_s3(where, "an ARN that is not of an access point");
  if (!is_aws_region(part[3]))
    return not_s3(where, "an access point without a region (of several regions), which is not supported");
  s3_location l;
  l.access_point = true;
  l.region = std::string(part[3]);
  l.bucket = std::string(name) + "-" + std::string(part[4]);
  l.path = std::string(path);
  return l;
}
}  // namespace s3_detail

PENSTOCK_INLINE bool is_aws_region(std::string_view text) noexcept {
  if (text.empty() || text.size() > 32) return false;
  for (char c : text)
    if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') && c != '-') return false;
  return true;
}

PENSTOCK_INLINE bool is_dns_bucket(std::string_view bucket) noexcept {
  if (bucket.size() < 3 || bucket.size() > 63 || bucket.front() == '-' || bucket.back() == '-') return false;
  for (char c : bucket)
    if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') && c != '-') return false;
  return true;
}

PENSTOCK_INLINE result<s3_location> locate_s3(uri const& where) {
  s3_location l;
  if (where.scheme() == "http" || where.scheme() == "https") {
    auto located = s3_detail::locate_url(where);
    if (!located) return located;
    l = *std::move(located);
  } else if (s3_detail::is_s3_scheme(where.scheme())) {
    if (where.rest().starts_with("arn:")) {
      auto located = s3_detail::locate_access_point(where, where.rest());
      if (!located) return located;
      l = *std::move(located);
    } else {
      auto const [bucket, path] = s3_detail::split_at(where.rest(), '/');
      l.bucket = std::string(bucket);
      l.path = std::string(path);
    }
  } else {
    return s3_detail::not_s3(where, where.scheme().empty() ? "a plain path" : "another scheme");
  }
  if (!s3_detail::is_bucket(l.bucket))
    return s3_detail::not_s3(where, l.bucket.empty() ? "no bucket" : "a name that no bucket can have");
  if (l.path.ends_with('/')) l.path.pop_back();
  return l;
}

PENSTOCK_INLINE bool is_s3(uri const& where) {
  if (s3_detail::is_s3_scheme(where.scheme())) return true;
  if (where.scheme() != "http" && where.scheme() != "https") return false;
  auto const url = net::split_url(where.text());
  return url && s3_detail::service_of_host(url->host).known;
}
}  // namespace storage
PENSTOCK_END
