#pragma once
#include <span>
#include <string>
#include <vector>

#include <penstock/core/result.hpp>
#include <penstock/core/separate.hpp>

struct sockaddr;

PENSTOCK_BEGIN
namespace net {
/// Is the host written as an address, IPv6 without brackets?
bool is_address(std::string const& host) noexcept;
/// 127.0.0.0/8, ::1, `localhost` and names below it.
bool is_loopback(std::string const& host) noexcept;

/// No store has such an address: link-local and other addresses of cloud metadata services, multicast, unspecified.
///
/// The address is looked at, not the text, since 2852039166 and a name of an attacker's lead there as well.
/// @source RFC 3927; RFC 4291; the metadata addresses of AWS, Azure, Alibaba Cloud
bool is_forbidden(sockaddr const* address) noexcept;

/// Where the connections to one origin go, found before a load begins: libcurl cannot be cancelled while it resolves.
struct route {
  std::string origin;  ///< `scheme://host[:port]` of URLs that go this way
  std::string host, port;
  std::vector<std::string> addresses;  ///< empty: the host is an address, or a proxy resolves it
};

/// The addresses of the hosts of some URLs, each host once.
///
/// @errors transient: a name cannot be resolved; access: a forbidden address; usage: no URL
/// @blocks on the resolver
result<std::vector<route>> resolve(std::span<std::string const> urls);
}  // namespace net
PENSTOCK_END

#ifndef PENSTOCK_SEPARATE_COMPILATION
#  include <penstock/net/resolve.ipp>
#endif
