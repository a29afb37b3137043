#include <penstock/net/resolve.hpp>

#include <arpa/inet.h>
#include <netinet/in.h>

#include <boost/test/unit_test.hpp>
#include <cstring>

using namespace penstock;
using namespace penstock::net;

namespace {
bool forbidden(char const* text) {
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  if (inet_pton(AF_INET, text, &v4.sin_addr) == 1) return is_forbidden(reinterpret_cast<sockaddr*>(&v4));
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  BOOST_TEST_REQUIRE(inet_pton(AF_INET6, text, &v6.sin6_addr) == 1, text);
  return is_forbidden(reinterpret_cast<sockaddr*>(&v6));
}
}  // namespace

BOOST_AUTO_TEST_SUITE(net_resolve)

BOOST_AUTO_TEST_CASE(metadata_services_and_the_like_are_forbidden) {
  for (auto const* a :
       {"169.254.169.254", "169.254.0.1", "100.100.100.200", "168.63.129.16", "0.0.0.0", "224.0.0.1", "255.255.255.255",
        "fe80::1", "febf::1", "fd00:ec2::254", "::", "ff02::1", "::ffff:169.254.169.254", "::ffff:0.0.0.0"})
    BOOST_TEST(forbidden(a), a);
  for (auto const* a : {"127.0.0.1", "10.0.0.4", "192.168.1.1", "20.60.1.1", "169.253.1.1", "::1", "2603:1030::1",
                        "fd00::1", "::ffff:10.0.0.4"})
    BOOST_TEST(!forbidden(a), a);
}

BOOST_AUTO_TEST_CASE(a_host_is_a_name_or_an_address) {
  for (auto const* h : {"127.0.0.1", "::1", "10.1.2.3"}) BOOST_TEST(is_address(h), h);
  for (auto const* h : {"localhost", "a.blob.core.windows.net", "127.1", ""}) BOOST_TEST(!is_address(h), h);
  for (auto const* h : {"127.0.0.1", "127.9.9.9", "::1", "localhost", "a.blob.localhost"})
    BOOST_TEST(is_loopback(h), h);
  for (auto const* h : {"128.0.0.1", "notlocalhost", "localhost.evil.example", "10.0.0.1"})
    BOOST_TEST(!is_loopback(h), h);
}

BOOST_AUTO_TEST_CASE(addresses_need_no_resolver_and_each_origin_comes_once) {
  std::string const urls[] = {"http://127.0.0.1:10000/a", "http://127.0.0.1:10000/b", "http://127.0.0.1:1/c",
                              "http://[::1]:5/x"};
  auto const routes = resolve(urls).value();
  BOOST_TEST_REQUIRE(routes.size() == 3U);
  BOOST_TEST(routes[0].origin == "http://127.0.0.1:10000");
  BOOST_TEST(routes[1].port == "1");
  BOOST_TEST(routes[2].host == "::1");
  for (auto const& r : routes) BOOST_TEST(r.addresses.empty());
}

BOOST_AUTO_TEST_CASE(a_wrong_url_is_an_error) {
  std::string const urls[] = {"nonsense"};
  auto const routes = resolve(urls);
  BOOST_TEST_REQUIRE(!routes);
  BOOST_TEST((routes.error().kind() == error_kind::usage));
}

BOOST_AUTO_TEST_SUITE_END()
