#pragma once
#include <penstock/net/resolve.hpp>
#include <penstock/net/url.hpp>
#include <penstock/storage/azure_location.hpp>

PENSTOCK_BEGIN
namespace storage {
namespace azure_detail {
inline bool all_of(std::string_view text, std::string_view more) noexcept {
  for (char c : text)
    if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') && more.find(c) == more.npos) return false;
  return true;
}
inline bool is_container(std::string_view t) noexcept {
  if (t == "$root" || t == "$web" || t == "$logs") return true;
  return !t.empty() && t.size() <= 63 && all_of(t, "-") && t.front() != '-' && t.back() != '-';
}

/// `blob.core.windows.net` of a host, with `.dfs.` read as `.blob.`; empty where the host is none of Azure's.
inline std::string service_of(std::string_view host) {
  auto const dot = host.find('.');
  if (dot == host.npos) return {};
  auto rest = std::string(host.substr(dot + 1));
  if (rest.starts_with("dfs.")) rest = "blob." + rest.substr(4);
  for (std::string_view known :
       {"blob.core.windows.net", "blob.core.usgovcloudapi.net", "blob.core.chinacloudapi.cn", "blob.localhost"})
    if (rest == known) return rest;
  // Accounts in a DNS zone: ACCOUNT.z01.blob.storage.azure.net
  if (rest.size() > 4 && rest[0] == 'z' && rest[1] >= '0' && rest[1] <= '9' && rest[2] >= '0' && rest[2] <= '9')
    for (std::string_view tail : {".blob.storage.azure.net", ".dfs.storage.azure.net"})
      if (rest.substr(3) == tail) return rest.substr(0, 3) + ".blob.storage.azure.net";
  return {};
}

/// Hosts that hold the account in the path.
inline bool is_path_style(std::string const& host) {
  return net::is_address(host) || net::is_loopback(host) || host == "host.docker.internal";
}

inline std::pair<std::string_view, std::string_view> first_segment(std::string_view path) noexcept {
  auto const slash = path.find('/');
  if (slash == path.npos) return {path, {}};
  return {path.substr(0, slash), path.substr(slash + 1)};
}

inline bool is_azure_scheme(std::string_view s) noexcept {
  for (std::string_view known : {"az", "azure", "abfs", "abfss", "wasb", "wasbs"})
    if (s == known) return true;
  return false;
}

inline error not_azure(uri const& where, std::string const& found) {
  return error{error_kind::usage,
               where.shown() +
                   ": expected az://CONTAINER/PATH, az://CONTAINER@ACCOUNT.blob.core.windows.net/PATH or "
                   "https://ACCOUNT.blob.core.windows.net/CONTAINER/PATH, found " +
                   found + "; correct the URI"};
}

/// Account and endpoint from a host, with its port, that stands in a URI of an azure scheme.
inline bool take_host(azure_location& l, std::string_view host_and_port) {
  auto const colon = host_and_port.find(':');
  auto const host = host_and_port.substr(0, colon);
  auto const port = colon == host_and_port.npos ? std::string_view() : host_and_port.substr(colon);
  if (!port.empty() && (port.size() > 6 || port.find_first_not_of("0123456789", 1) != port.npos)) return false;
  l.account = std::string(host.substr(0, host.find('.')));
  if (!is_azure_account(l.account)) return false;
  auto const service = host == l.account ? std::string("blob.core.windows.net") : service_of(host);
  if (service.empty()) return false;
  l.endpoint = (service == "blob.localhost" ? "http://" : "https://") + l.account + "." + service + std::string(port);
  return true;
}

inline result<azure_location> locate_url(uri const& where) {
  auto url = net::split_url(where.text());
  if (!url) return std::move(url).error();
  azure_location l;
  l.exact = true;
  l.endpoint = url->origin();
  std::string_view rest = std::string_view(url->path).substr(1);
  if (is_path_style(url->host) && service_of(url->host).empty()) {
    auto const [account, after] = first_segment(rest);
    l.account = std::string(account);
    l.endpoint += "/" + l.account;
    rest = after;
  } else {
    l.account = account_of_host(url->host);
    if (l.account.empty()) return not_azure(where, "the host " + url->host);
    l.endpoint = url->scheme + "://" + l.account + "." + service_of(url->host) +
                 url->origin().substr(url->scheme.size() + 3 + url->host.size());
  }
  auto const [container, path] = first_segment(rest);
  auto decoded = net::percent_decode(container), key = net::percent_decode(path);
  if (!decoded) return std::move(decoded).error();
  if (!key) return std::move(key).error();
  if (net::has_control_character(*decoded + *key)) return not_azure(where, "a control character in the path");
  l.container = *std::move(decoded);
  l.path = *std::move(key);
  if (!url->query.empty()) {
    if (("&" + url->query).find("&sig=") == std::string::npos)
      return not_azure(where, "a query that is no SAS (it has no sig)");
    l.sas = url->query;
  }
  return l;
}
}  // namespace azure_detail

PENSTOCK_INLINE bool is_azure_account(std::string_view text) noexcept {
  return text.size() >= 3 && text.size() <= 24 && azure_detail::all_of(text, "");
}

PENSTOCK_INLINE std::string account_of_host(std::string_view host) {
  if (azure_detail::service_of(host).empty()) return {};
  auto account = std::string(host.substr(0, host.find('.')));
  return is_azure_account(account) ? account : std::string();
}

PENSTOCK_INLINE result<azure_location> locate_azure(uri const& where) {
  azure_location l;
  if (where.scheme() == "http" || where.scheme() == "https") {
    auto located = azure_detail::locate_url(where);
    if (!located) return located;
    l = *std::move(located);
  } else if (azure_detail::is_azure_scheme(where.scheme())) {
    if (auto const query = where.rest().find('?'); query != where.rest().npos)
      if (where.rest().find("sig=", query) != where.rest().npos)
        return error{error_kind::usage,
                     "expected az://CONTAINER/PATH without a query, found one that looks like a SAS; give the SAS by "
                     "AZURE_STORAGE_SAS_TOKEN, or use the https URL with it"};
    auto const [authority, rest] = azure_detail::first_segment(where.rest());
    auto const at = authority.find('@');
    l.container = std::string(authority.substr(0, at));
    l.path = std::string(rest);
    if (at != authority.npos) {
      if (!azure_detail::take_host(l, authority.substr(at + 1)))
        return azure_detail::not_azure(where, "the host " + std::string(authority.substr(at + 1)));
    } else if (authority.find('.') != authority.npos) {
      if (!azure_detail::take_host(l, authority))
        return azure_detail::not_azure(where, "the host " + std::string(authority));
      auto const [container, path] = azure_detail::first_segment(rest);
      l.container = std::string(container);
      l.path = std::string(path);
    }
  } else {
    return azure_detail::not_azure(where, where.scheme().empty() ? "a plain path" : "another scheme");
  }
  if (l.exact && !is_azure_account(l.account)) return azure_detail::not_azure(where, "no name of an account");
  if (!azure_detail::is_container(l.container))
    return azure_detail::not_azure(where,
                                   l.container.empty() ? "no container" : "'" + l.container + "' as a container");
  if (l.path.ends_with('/')) l.path.pop_back();
  return l;
}

PENSTOCK_INLINE bool is_azure(uri const& where) {
  if (azure_detail::is_azure_scheme(where.scheme())) return true;
  if (where.scheme() != "http" && where.scheme() != "https") return false;
  auto const url = net::split_url(where.text());
  if (url && !azure_detail::service_of(url->host).empty()) return true;
  return locate_azure(where).has_value();
}
}  // namespace storage
PENSTOCK_END
