#pragma once
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include <penstock/core/separate.hpp>
#include <penstock/net/http_lane.hpp>
#include <penstock/storage/backend.hpp>

PENSTOCK_BEGIN
namespace storage {
/// How to reach plain web servers.
struct http_settings {
  std::string token{};             ///< PENSTOCK_HTTP_TOKEN: a bearer token
  std::string user{}, password{};  ///< PENSTOCK_HTTP_USER, PENSTOCK_HTTP_PASSWORD: basic authentication
  /// PENSTOCK_HTTP_ORIGIN, `https://host[:port]`: the one server that hears the credentials. Over plain http only a host
  /// of this machine does.
  std::string origin{};
};
struct web_options {
  http_settings account{};
  bool environment = true;  ///< look at PENSTOCK_HTTP_*
  net::http_options http{};
  unsigned depth = 8;                         ///< reads that one lane keeps outstanding
  bytes most_without_ranges = mebibytes(64);  ///< a larger object of a server without ranges is refused
};

/// Plain web servers: a storage of objects at http:// and https://.
///
/// No listing is asked for: the files of a model are those of its index, or `model.safetensors`, and the usual names of
/// config, tokenizer and processor files, as far as they are there. The query of a root goes with each of its objects. A
/// pinned object is its ETag, or where there is none its Last-Modified and size. Redirects are followed once, while
/// objects are pinned: at most 5, never from https to http, never to an address of this machine from elsewhere, and
/// credentials stay at their origin.
class http {
 public:
  using options = web_options;
  using object = net::http_object;
  using lane = net::http_lane;

  explicit http(web_options o = {});

  static constexpr std::string_view schemes = "http(s)://";
  /// Is this a URI of ours? Of any web server, so that this store comes last in `any_of`.
  static bool takes(uri const& where) { return where.scheme() == "http" || where.scheme() == "https"; }

  /// Sees each object once, up to 16 at the same time.
  ///
  /// @errors usage: the URI; access: refused; not_found: names all that are missing; format: an object with a
  ///         Content-Encoding; io: no size, or no ranges and too large; transient; cancelled
  /// @blocks until the server has answered
  /// @cost   one request (GET of one byte) for each name, and one for each redirect
  result<std::vector<object>> pin(uri const& root, std::span<std::string const> names,
                                  std::stop_token const& stop = {});
  /// The files of a model that are there; sizes of weights are zero, which `pin` finds out.
  ///
  /// @errors as `pin`; not_found: neither an index nor `model.safetensors`, nor config.json
  /// @cost   a request for each name that may be there
  result<std::vector<stored_object>> list(uri const& root, std::stop_token const& stop = {});
  /// @errors as net::http_lane::open
  result<std::unique_ptr<lane>> open_lane(std::span<object const> objects, unsigned index, unsigned depth);
  [[nodiscard]] storage_traits traits() const noexcept;

 private:
  struct place;
  struct answer;
  result<place> find(uri const& root) const;
  std::vector<result<answer>> ask(place const& where, std::span<std::string const> names, std::stop_token const& stop);

  web_options options_;
};
}  // namespace storage
PENSTOCK_END

#ifndef PENSTOCK_SEPARATE_COMPILATION
#  include <penstock/storage/http.ipp>
#endif
