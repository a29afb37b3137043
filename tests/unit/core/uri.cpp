#include <boost/test/unit_test.hpp>
#include <string>
#include <utility>

#include <penstock/core/uri.hpp>

using penstock::error_kind;
using penstock::uri;

namespace {
template <class Uri> concept gives_rest = requires(Uri&& u) { static_cast<Uri&&>(u).rest(); };
}  // namespace

BOOST_AUTO_TEST_SUITE(core_uri)

BOOST_AUTO_TEST_CASE(a_uri_has_a_scheme_and_a_plain_path_has_none) {
  struct row {
    std::string text, scheme, rest;
  };
  for (auto const& [text, scheme, rest] :
       {row{"az://models/a b%20c", "az", "models/a b%20c"}, row{"HTTPS://Host/x", "https", "Host/x"},
        row{"memory://", "memory", ""}, row{"/data/m", "", "/data/m"}, row{"m", "", "m"}, row{"://x", "", "://x"},
        row{"file:///a", "file", "/a"}}) {
    auto const u = uri::parse(text);
    BOOST_TEST_REQUIRE(u.has_value());
    BOOST_TEST(u->scheme() == scheme);
    BOOST_TEST(u->rest() == rest);
    BOOST_TEST(u->text() == text);
  }
}

BOOST_AUTO_TEST_CASE(an_empty_text_and_control_characters_are_no_uri) {
  for (auto const& text : {std::string{}, std::string{"az://a\nb"}, std::string{"a\0b", 3}, std::string{"\x7f"}}) {
    auto const u = uri::parse(text);
    BOOST_TEST_REQUIRE(!u.has_value());
    BOOST_TEST((u.error().kind() == error_kind::usage));
  }
}

BOOST_AUTO_TEST_CASE(what_is_shown_has_no_query_of_http) {
  BOOST_TEST(uri::parse("https://h/c/k?sig=secret&x=1").value().shown() == "https://h/c/k");
  BOOST_TEST(uri::parse("HTTP://h?sig=secret").value().shown() == "HTTP://h");
  BOOST_TEST(uri::parse("az://c/what?.txt").value().shown() == "az://c/what?.txt");
}

BOOST_AUTO_TEST_CASE(what_is_shown_has_no_credential_where_none_belongs) {
  for (auto const& [text, shown] : {std::pair{"https://u:secret@h/c@d?x", "https://h/c@d"},
                                    {"Http://u:s@cret@h", "Http://h"},
                                    {"az://c/k?sv=1&sig=secret", "az://c/k"},
                                    {"s3://b/k?a&X-sig=secret", "s3://b/k"},
                                    {"https:/h/k?sig=secret", "https:/h/k"},
                                    {" https://h/k?sig=secret", " https://h/k"},
                                    {"az://c@acct1/k", "az://c@acct1/k"},
                                    {"http", "http"}})
    BOOST_TEST(uri::parse(text).value().shown() == shown);
}

BOOST_AUTO_TEST_CASE(a_temporary_gives_no_part_of_itself) {
  static_assert(gives_rest<uri&>);
  static_assert(!gives_rest<uri>);
  auto u = *uri::parse("az://a-long-enough-container/and-a-key");
  auto const moved = std::move(u);
  BOOST_TEST(moved.rest() == "a-long-enough-container/and-a-key");
}
BOOST_AUTO_TEST_SUITE_END()
