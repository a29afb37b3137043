#include <penstock/net/http_failure.hpp>

#include <boost/test/unit_test.hpp>

using namespace penstock;
using namespace penstock::net;

namespace {
response_head head_of(int status, std::initializer_list<std::string_view> lines = {}) {
  response_head h;
  h.take_line("HTTP/1.1 " + std::to_string(status) + " X\r\n");
  for (auto const line : lines) h.take_line(std::string(line) + "\r\n");
  h.take_line("\r\n");
  return h;
}
}  // namespace

BOOST_AUTO_TEST_SUITE(net_http_failure)

BOOST_AUTO_TEST_CASE(the_store_names_its_error_in_a_header_or_in_the_body) {
  auto const body = "\xef\xbb\xbf<?xml version=\"1.0\"?><Error><Code>BlobNotFound</Code><Message>m</Message></Error>";
  BOOST_TEST(store_code(head_of(404, {"x-ms-error-code: ServerBusy"}), body) == "ServerBusy");
  BOOST_TEST(store_code(head_of(404), body) == "BlobNotFound");
  BOOST_TEST(store_code(head_of(404), "") == "");
  BOOST_TEST(store_code(head_of(404), "</Code><Code>") == "");
  BOOST_TEST(store_code(head_of(404, {"x-ms-error-code: A<b>\"c"}), "") == "Abc");
}

BOOST_AUTO_TEST_CASE(a_status_has_a_kind) {
  BOOST_TEST((kind_of(401, "") == error_kind::access));
  BOOST_TEST((kind_of(403, "AuthorizationFailure") == error_kind::access));
  BOOST_TEST((kind_of(400, "InvalidAuthenticationInfo") == error_kind::access));
  BOOST_TEST((kind_of(409, "PublicAccessNotPermitted") == error_kind::access));
  BOOST_TEST((kind_of(400, "ExpiredToken") == error_kind::access));
  BOOST_TEST((kind_of(404, "") == error_kind::not_found));
  BOOST_TEST((kind_of(412, "ConditionNotMet") == error_kind::changed));
  BOOST_TEST((kind_of(416, "InvalidRange") == error_kind::format));
  BOOST_TEST((kind_of(409, "BlobArchived") == error_kind::io));
  BOOST_TEST((kind_of(302, "") == error_kind::io));
}

BOOST_AUTO_TEST_CASE(an_error_says_what_is_known) {
  auto const e = refused(head_of(403, {"x-ms-error-code: AuthenticationFailed", "x-ms-request-id: 12-ab"}), "",
                         "az://c/m", std::nullopt, "signed with the key of account a");
  BOOST_TEST((e.kind() == error_kind::access));
  BOOST_TEST(e.where().uri == "az://c/m");
  BOOST_TEST(e.where().http_status == 403);
  BOOST_TEST(e.where().store_code == "AuthenticationFailed");
  BOOST_TEST(e.where().request_id == "12-ab");
  for (auto const* part : {"az://c/m", "403", "AuthenticationFailed", "signed with the key of account a"})
    BOOST_TEST(e.message().find(part) != std::string::npos, part);
}

BOOST_AUTO_TEST_CASE(a_range_behind_the_end_is_a_change_if_the_size_is_another) {
  auto const changed = refused(head_of(416, {"Content-Range: bytes */12"}), "", "o", bytes{16}, "");
  BOOST_TEST((changed.kind() == error_kind::changed));
  auto const ours = refused(head_of(416, {"Content-Range: bytes */16"}), "", "o", bytes{16}, "");
  BOOST_TEST((ours.kind() == error_kind::format));
  BOOST_TEST((refused(head_of(416), "", "o", bytes{16}, "").kind() == error_kind::format));
}

BOOST_AUTO_TEST_SUITE_END()
