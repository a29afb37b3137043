#include <penstock/net/url.hpp>

#include <boost/test/unit_test.hpp>

using namespace penstock;
using namespace penstock::net;

BOOST_AUTO_TEST_SUITE(net_url)

BOOST_AUTO_TEST_CASE(a_key_is_encoded_once_whatever_it_looks_like) {
  BOOST_TEST(percent_encode("with space/x") == "with%20space/x");
  BOOST_TEST(percent_encode("with%20space/x") == "with%2520space/x");
  BOOST_TEST(percent_encode("a+b/x") == "a%2Bb/x");
  BOOST_TEST(percent_encode("\xc3\xbc/x") == "%C3%BC/x");
  BOOST_TEST(percent_encode("h#h/q?x") == "h%23h/q%3Fx");
  BOOST_TEST(percent_encode("/./../A-z_0~9.") == "/./../A-z_0~9.");
  BOOST_TEST(percent_encode(std::string_view("\r\n\0", 3)) == "%0D%0A%00");
  BOOST_TEST(percent_encode_value("a/b=c&d") == "a%2Fb%3Dc%26d");
}

BOOST_AUTO_TEST_CASE(decoding_undoes_encoding_for_every_byte) {
  std::string all;
  for (int c = 0; c < 256; ++c) all += static_cast<char>(c);
  BOOST_TEST((percent_decode(percent_encode(all)).value() == all));
  BOOST_TEST((percent_decode(percent_encode_value(all)).value() == all));
  BOOST_TEST(percent_decode("a+b%2b%2B").value() == "a+b++");
}

BOOST_AUTO_TEST_CASE(a_percent_sign_without_two_digits_is_an_error) {
  for (auto const* text : {"%", "a%4", "100%zz", "%g0", "%0"}) {
    auto const r = percent_decode(text);
    BOOST_TEST_REQUIRE(!r, text);
    BOOST_TEST((r.error().kind() == error_kind::usage));
  }
}

BOOST_AUTO_TEST_CASE(a_url_comes_apart) {
  auto const u = split_url("https://Some.Host:8443/a%20b/./../c?x=1&sig=y").value();
  BOOST_TEST(u.scheme == "https");
  BOOST_TEST(u.host == "some.host");
  BOOST_TEST(u.port == "8443");
  BOOST_TEST(u.path == "/a%20b/./../c");
  BOOST_TEST(u.query == "x=1&sig=y");
  BOOST_TEST(u.origin() == "https://some.host:8443");
  BOOST_TEST(split_url("http://h:80").value().origin() == "http://h");
  BOOST_TEST(split_url("http://h").value().path == "/");
  auto const v6 = split_url("http://[::1]:10000/x").value();
  BOOST_TEST(v6.host == "::1");
  BOOST_TEST(v6.origin() == "http://[::1]:10000");
}

BOOST_AUTO_TEST_CASE(other_texts_are_refused_without_telling_the_query) {
  for (auto const* text :
       {"ftp://h/x", "file:///etc/passwd", "http://", "http://user:pw@h/x", "http://user@h/x",
        "http://user:pw@h:99999999/x", "http://1%25250.0.1/", "http:/%35//G/m", "http:/h/x", "http:///h/x", "http:h/x",
        "http://@%35/", "http://%35:80/", "https://h/a b?sig=geheim", "http://h\r\nX: y/", "relative"}) {
    auto const r = split_url(text);
    BOOST_TEST_REQUIRE(!r, text);
    BOOST_TEST((r.error().kind() == error_kind::usage));
    BOOST_TEST(r.error().message().find("geheim") == std::string::npos);
    BOOST_TEST(r.error().message().find("pw") == std::string::npos);
  }
}

BOOST_AUTO_TEST_CASE(what_is_shown_has_no_query) {
  BOOST_TEST(without_query("https://h/p?sv=1&sig=2") == "https://h/p");
  BOOST_TEST(without_query("https://h/p") == "https://h/p");
}

BOOST_AUTO_TEST_CASE(control_characters_are_seen) {
  for (std::string_view text : {std::string_view("a\rb"), std::string_view("a\n"), std::string_view("\0", 1),
                                std::string_view("\x7f"), std::string_view("\t")})
    BOOST_TEST(has_control_character(text));
  BOOST_TEST(!has_control_character("plain \xc3\xbc"));
}

BOOST_AUTO_TEST_SUITE_END()
