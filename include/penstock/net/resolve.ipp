#pragma once
#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>

#include <penstock/net/resolve.hpp>
#include <penstock/net/url.hpp>

PENSTOCK_BEGIN
namespace net {
PENSTOCK_INLINE bool is_address(std::string const& host) noexcept {
  unsigned char room[16];
  return inet_pton(AF_INET, host.c_str(), room) == 1 || inet_pton(AF_INET6, host.c_str(), room) == 1;
}

PENSTOCK_INLINE bool is_loopback(std::string const& host) noexcept {
  unsigned char a[16];
  if (inet_pton(AF_INET, host.c_str(), a) == 1) return a[0] == 127;
  return host == "::1" || host == "localhost" || (host.size() > 10 && host.ends_with(".localhost"));
}

namespace detail {
inline bool is_forbidden_v4(unsigned char const* a) noexcept {
  constexpr unsigned char alibaba[4] = {100, 100, 100, 200}, azure[4] = {168, 63, 129, 16};
  return a[0] == 0 || a[0] >= 224 || (a[0] == 169 && a[1] == 254) || !std::memcmp(a, alibaba, 4) ||
         !std::memcmp(a, azure, 4);
}

struct addrinfo_deleter {
  void operator()(addrinfo* a) const noexcept { freeaddrinfo(a); }
};

/// A proxy resolves the names itself.
inline bool has_proxy(std::string const& scheme) noexcept {
  auto const set = [](char const* name) {
    char const* value = std::getenv(name);
    return value && *value;
  };
  if (set("all_proxy") || set("ALL_PROXY")) return true;
  return scheme == "https" ? set("https_proxy") || set("HTTPS_PROXY") : set("http_proxy");
}

inline result<std::vector<std::string>> addresses_of(std::string const& host, std::string const& port) {
  addrinfo wanted{};
  wanted.ai_family = AF_UNSPEC;
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_ADDRCONFIG;
  addrinfo* found = nullptr;
  if (int const code = getaddrinfo(host.c_str(), port.c_str(), &wanted, &found))
    return error{code == EAI_MEMORY ? error_kind::memory : error_kind::transient,
                 "expected an address of " + host + ", found none (" + gai_strerror(code) +
                     "); check the account's name and the network"};
  std::unique_ptr<addrinfo, addrinfo_deleter> const owner(found);
  std::vector<std::string> out;
  for (auto* a = found; a; a = a->ai_next) {
    if (is_forbidden(a->ai_addr))
      return error{error_kind::access, "expected a store at " + host +
                                           ", found an address of a metadata service or the like; correct the host"};
    char text[INET6_ADDRSTRLEN] = {};
    void const* at = a->ai_family == AF_INET
                         ? static_cast<void const*>(&reinterpret_cast<sockaddr_in const*>(a->ai_addr)->sin_addr)
                         : static_cast<void const*>(&reinterpret_cast<sockaddr_in6 const*>(a->ai_addr)->sin6_addr);
    if (!inet_ntop(a->ai_family, at, text, sizeof text)) continue;
    if (std::find(out.begin(), out.end(), text) == out.end()) out.emplace_back(text);
  }
  return out;
}
}  // namespace detail

PENSTOCK_INLINE bool is_forbidden(sockaddr const* address) noexcept {
  if (address->sa_family == AF_INET) {
    unsigned char a[4];
    std::memcpy(a, &reinterpret_cast<sockaddr_in const*>(address)->sin_addr, 4);
    return detail::is_forbidden_v4(a);
  }
  if (address->sa_family != AF_INET6) return true;
  unsigned char a[16];
  std::memcpy(a, &reinterpret_cast<sockaddr_in6 const*>(address)->sin6_addr, 16);
  constexpr unsigned char mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff}, none[16] = {};
  constexpr unsigned char aws[4] = {0xfd, 0x00, 0x0e, 0xc2};
  if (!std::memcmp(a, mapped, 12)) return detail::is_forbidden_v4(a + 12);
  return a[0] == 0xff || (a[0] == 0xfe && (a[1] & 0xc0) == 0x80) || !std::memcmp(a, aws, 4) ||
         !std::memcmp(a, none, 16);
}

PENSTOCK_INLINE result<std::vector<route>> resolve(std::span<std::string const> urls) {
  std::vector<route> routes;
  for (auto const& url : urls) {
    auto const known = [&](route const& r) {
      return url.starts_with(r.origin) && url.substr(r.origin.size(), 1) == "/";
    };
    if (std::any_of(routes.begin(), routes.end(), known)) continue;
    auto parts = split_url(url);
    if (!parts) return std::move(parts).error();
    route r{parts->origin(), parts->host, parts->port, {}};
    if (!is_address(r.host) && !is_loopback(r.host) && !detail::has_proxy(parts->scheme)) {
      auto found = detail::addresses_of(r.host, r.port);
      if (!found) return std::move(found).error();
      r.addresses = *std::move(found);
    }
    routes.push_back(std::move(r));
  }
  return routes;
}
}  // namespace net
PENSTOCK_END
