// A URI, and what it says of a place in Azure: refused, or taken apart without a loss, and no message has its query.
#include <penstock/core/uri.hpp>
#include <penstock/net/url.hpp>
#include <penstock/storage/azure_location.hpp>

#include "check.hpp"

using namespace penstock;
using namespace fuzz;

namespace {
constexpr std::string_view secret = "Geheim0815";  // in no text itself, nor in a host in lower case

void check_url(std::string_view text) {
  auto const url = net::split_url(text);
  if (!url) return check(!url.error().message().empty(), "an error has a message");
  check(url->scheme == "http" || url->scheme == "https", "a URL is of the web");
  check(!url->host.empty() && url->path.starts_with('/'), "a URL has a host and a path");
  auto const printed = url->origin() + url->path + (url->query.empty() ? "" : "?" + url->query);
  auto const again = net::split_url(printed);
  check(again && again->origin() == url->origin() && again->path == url->path && again->query == url->query,
        "a printed URL is the same");
}

void check_location(uri const& u) {
  auto const l = storage::locate_azure(u);
  if (!l) {
    check_message(l.error(), 2 * u.text().size() + 1000);
    check(l.error().kind() == error_kind::usage, "a wrong URI is wrong usage");
    return;
  }
  check(!l->container.empty() && !has(l->container, "/"), "a place has a container");
  check(!l->path.ends_with('/') || l->path.size() + 2 <= u.text().size(), "a key loses its final slash");
  check(!has_control_character(l->path), "a key has no control characters");
  check(l->prefix() == (l->path.empty() ? "" : l->path + "/"), "a prefix ends in a slash");
  check(l->account.empty() || storage::is_azure_account(l->account), "an account has a proper name");
  if (l->exact) {
    auto const printed = l->endpoint + "/" + net::percent_encode(l->container) + "/" +
                         net::percent_encode(l->prefix()) + (l->sas.empty() ? "" : "?" + l->sas);
    auto const again = storage::locate_azure(*uri::parse(printed));
    check(again && again->endpoint == l->endpoint && again->container == l->container && again->path == l->path &&
              again->sas == l->sas,
          "a printed place is the same");
  }
}

/// A URI that has the secret as a credential.
void check_secret(std::string const& text) {
  auto const u = uri::parse(text);
  if (!u) return check_message(u.error());
  check(!has(u->shown(), secret), "no credential is shown");
  auto const l = storage::locate_azure(*u);
  check(l || !has(l.error().message(), secret), "no error of a place has a credential");
  auto const url = net::split_url(u->text());
  check(url || !has(url.error().message(), secret), "no error of a URL has a credential");
}
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(u8 const* data, std::size_t size) {
  auto const text = text_of(data, size);
  check(*net::percent_decode(net::percent_encode(text)) == text, "percent encoding loses nothing");
  check(*net::percent_decode(net::percent_encode_value(text)) == text, "percent encoding of a value loses nothing");
  if (!has(text, {"\0", 1})) check_url(text);
  auto const u = uri::parse(text);
  if (!u) {
    check_message(u.error());
    return 0;
  }
  check(u->text() == text && text.ends_with(u->rest()) && u->shown().size() <= text.size(),
        "a URI is kept as it was given");
  check(u->scheme().empty() ? u->rest() == text : u->scheme().size() + 3 + u->rest().size() == text.size(),
        "a URI is a scheme and a rest");
  for (char const c : u->scheme()) check(c < 'A' || c > 'Z', "a scheme is in lower case");
  check(storage::is_azure(*u) || !storage::locate_azure(*u), "a place in Azure is known as one");
  check_location(*u);
  if (has(text, "0815")) return 0;
  check_secret(std::string{text} + "?sv=1&sig=" + std::string{secret});
  check_secret("https://user:" + std::string{secret} + "@" + std::string{text});
  return 0;
}
