#pragma once
// libcurl's handles with owners, and what is the same for every request. Included by .ipp files only.
#include <curl/curl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <memory>
#include <string>

#include <penstock/core/result.hpp>
#include <penstock/net/http_options.hpp>
#include <penstock/net/http_request.hpp>
#include <penstock/net/resolve.hpp>
#include <penstock/net/url.hpp>

PENSTOCK_BEGIN
namespace net::detail {
struct easy_deleter {
  void operator()(CURL* c) const noexcept { curl_easy_cleanup(c); }
};
struct multi_deleter {
  void operator()(CURLM* m) const noexcept { curl_multi_cleanup(m); }
};
struct list_deleter {
  void operator()(curl_slist* l) const noexcept { curl_slist_free_all(l); }
};
using easy_handle = std::unique_ptr<CURL, easy_deleter>;
using multi_handle = std::unique_ptr<CURLM, multi_deleter>;
using text_list = std::unique_ptr<curl_slist, list_deleter>;

/// libcurl takes 512 KiB at most; smaller ones cost more CPU for each byte.
inline constexpr long buffer_size = 512L << 10;
/// For each request outstanding: the buffer, and libcurl's own state.
inline constexpr bytes transport_per_request{(512U << 10) + (16U << 10)};

/// Once in a process, whoever comes first.
inline bool curl_is_ready() {
  static CURLcode const code = curl_global_init(CURL_GLOBAL_DEFAULT);
  return code == CURLE_OK;
}

inline bool append(text_list& list, std::string const& text) {
  auto* longer = curl_slist_append(list.get(), text.c_str());
  if (!longer) return false;
  static_cast<void>(list.release());
  list.reset(longer);
  return true;
}

/// libcurl, unlike its command, does not look at these variables.
inline std::string ca_setting(std::string const& option, std::initializer_list<char const*> names) {
  if (!option.empty()) return option;
  for (char const* name : names)
    if (char const* value = std::getenv(name); value && *value) return value;
  return {};
}

/// Why a connection got no socket. libcurl says of either that it could not connect.
struct no_socket {
  bool any_address = false;  ///< set before: also one that no store has
  bool forbidden = false;    ///< the address is one
  int number = 0;            ///< what the system said
};

/// Looks at the address that a connection goes to, whatever text it came from.
inline curl_socket_t open_socket(void* why, curlsocktype, curl_sockaddr* to) {
  auto& w = *static_cast<no_socket*>(why);
  if (!w.any_address && is_forbidden(&to->addr)) {
    w.forbidden = true;
    return CURL_SOCKET_BAD;
  }
  int const s = socket(to->family, to->socktype | SOCK_CLOEXEC, to->protocol);
  w.number = s < 0 ? errno : 0;
  return s;
}

/// All that does not differ between requests. `why` is written when a connection is begun.
inline void set_common(CURL* c, http_options const& o, web_url const& url, no_socket* why) {
  curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, url.scheme.c_str());
  curl_easy_setopt(c, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  curl_easy_setopt(c, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(c, CURLOPT_PATH_AS_IS, 1L);
  curl_easy_setopt(c, CURLOPT_HTTP_CONTENT_DECODING, 0L);
  curl_easy_setopt(c, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  curl_easy_setopt(c, CURLOPT_USERAGENT, "penstock/0.1");
  curl_easy_setopt(c, CURLOPT_BUFFERSIZE, buffer_size);
  curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(o.connect.count()));
  curl_easy_setopt(c, CURLOPT_TCP_KEEPALIVE, 1L);
  curl_easy_setopt(c, CURLOPT_MAXAGE_CONN, 20L);
  curl_easy_setopt(c, CURLOPT_MAXLIFETIME_CONN, 300L);
  curl_easy_setopt(c, CURLOPT_SSL_VERIFYPEER, 1L);
  curl_easy_setopt(c, CURLOPT_SSL_VERIFYHOST, 2L);
  curl_easy_setopt(c, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  if (auto const file = ca_setting(o.ca_file, {"CURL_CA_BUNDLE", "SSL_CERT_FILE"}); !file.empty())
    curl_easy_setopt(c, CURLOPT_CAINFO, file.c_str());
  if (auto const folder = ca_setting({}, {"SSL_CERT_DIR"}); !folder.empty())
    curl_easy_setopt(c, CURLOPT_CAPATH, folder.c_str());
  if (is_loopback(url.host)) curl_easy_setopt(c, CURLOPT_PROXY, "");
  curl_easy_setopt(c, CURLOPT_OPENSOCKETFUNCTION, &open_socket);
  curl_easy_setopt(c, CURLOPT_OPENSOCKETDATA, why);
}
}  // namespace net::detail
PENSTOCK_END
