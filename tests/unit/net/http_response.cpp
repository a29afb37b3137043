#include <penstock/net/http_response.hpp>

#include <boost/test/unit_test.hpp>

using namespace penstock;
using namespace penstock::net;

namespace {
response_head head_of(std::initializer_list<std::string_view> lines) {
  response_head h;
  for (auto const line : lines) h.take_line(std::string(line) + "\r\n");
  h.take_line("\r\n");
  return h;
}
/// The right answer for bytes 100-199 of 1,000 of version "v1", with lines added.
response_head answer(std::initializer_list<std::string_view> more) {
  response_head h;
  for (auto const* line : {"HTTP/1.1 206 Partial Content\r\n", "ETag: \"v1\"\r\n"}) h.take_line(line);
  for (auto const line : more) h.take_line(std::string(line) + "\r\n");
  h.take_line("\r\n");
  return h;
}
constexpr std::string_view range = "Content-Range: bytes 100-199/1000";
verdict judged(response_head const& h) { return judge_range(h, {{bytes{100}, bytes{100}}, bytes{1000}, "\"v1\""}); }
using what = verdict::what;
}  // namespace

BOOST_AUTO_TEST_SUITE(net_http_response)

BOOST_AUTO_TEST_CASE(names_are_in_lower_case_and_values_trimmed) {
  auto const h = head_of({"HTTP/1.1 200 OK", "X-Ms-Request-ID:  7 \t", "Empty:", "no colon"});
  BOOST_TEST(h.status() == 200);
  BOOST_TEST(h.ended());
  BOOST_TEST((h.get("x-ms-request-id") == "7"));
  BOOST_TEST((h.get("empty") == ""));
  BOOST_TEST(!h.get("no colon"));
}

BOOST_AUTO_TEST_CASE(each_status_line_begins_anew_and_1xx_is_no_end) {
  auto h = head_of({"HTTP/1.1 100 Continue", "Content-Length: 5"});
  BOOST_TEST(!h.ended());
  h.take_line("HTTP/1.1 206 Partial Content\r\n");
  BOOST_TEST(!h.get("content-length"));
  h.take_line("Content-Length: 9\r\n");
  h.take_line("\r\n");
  BOOST_TEST(h.ended());
  BOOST_TEST((h.content_length() == bytes{9}));
  h.take_line("Content-Length: 1\r\n");  // a trailer
  BOOST_TEST(!h.contradicts_itself("content-length"));
}

BOOST_AUTO_TEST_CASE(a_content_length_is_a_63_bit_number) {
  BOOST_TEST((head_of({"HTTP/1.1 200", "Content-Length: 9223372036854775807"}).content_length() ==
              bytes{9223372036854775807U}));
  for (auto const* value : {"9223372036854775808", "99999999999999999999", "-1", "+1", "1.0", "1, 1", "", "0x10"})
    BOOST_TEST(!head_of({"HTTP/1.1 200", std::string("Content-Length: ") + value}).content_length(), value);
}

BOOST_AUTO_TEST_CASE(content_range_has_one_unit_and_makes_sense) {
  auto const r = parse_content_range("bytes 100-199/1000");
  BOOST_TEST_REQUIRE(r.has_value());
  BOOST_TEST((r->range == byte_range{bytes{100}, bytes{100}}));
  BOOST_TEST((r->total == bytes{1000}));
  BOOST_TEST(!parse_content_range("bytes 0-0/*")->total);
  BOOST_TEST(!parse_content_range("bytes */12")->range);
  BOOST_TEST((parse_content_range("bytes */12")->total == bytes{12}));
  BOOST_TEST(parse_content_range("Bytes 0-1/2").has_value());
  for (auto const* value : {"items 0-1/2", "bytes 1-0/2", "bytes 0-2/2", "bytes 0-1", "bytes -1/2", "bytes 0-/2",
                            "bytes", "bytes 0-1/x", "bytes a-1/2", "0-1/2", "bytes 0-99999999999999999999/*"})
    BOOST_TEST(!parse_content_range(value).has_value(), value);
}

BOOST_AUTO_TEST_CASE(the_right_answer_is_used) {
  BOOST_TEST((judged(answer({range, "Content-Length: 100"})).next == what::use));
  BOOST_TEST((judged(answer({range})).next == what::use));
  BOOST_TEST((judged(answer({"Content-Range: bytes 100-199/*"})).next == what::use));
  BOOST_TEST((judged(answer({range, "Content-Encoding: identity"})).next == what::use));
  BOOST_TEST((judged(answer({range, "Content-Length: 1", "Transfer-Encoding: chunked"})).next == what::use));
  BOOST_TEST(!judged(answer({range, "Content-Length: 100"})).close_after);
}

BOOST_AUTO_TEST_CASE(a_length_that_is_too_small_is_used_but_not_the_connection) {
  auto const v = judged(answer({range, "Content-Length: 99"}));
  BOOST_TEST((v.next == what::use));
  BOOST_TEST(v.close_after);
}

BOOST_AUTO_TEST_CASE(lengths_that_contradict_need_another_connection) {
  BOOST_TEST((judged(answer({range, "Content-Length: 100", "Content-Length: 99"})).next == what::retry));
  BOOST_TEST((judged(answer({range, "Content-Length: 100", "Content-Length: 100"})).next == what::use));
  BOOST_TEST((judged(answer({range, "Content-Length: many"})).next == what::retry));
}

BOOST_AUTO_TEST_CASE(another_range_is_a_format_error_the_second_time) {
  for (auto const* line : {"Content-Range: bytes 101-200/1000", "Content-Range: bytes 99-199/1000",
                           "Content-Range: bytes 100-198/1000", "Content-Range: lines 100-199/1000", "X: y"}) {
    auto const v = judged(answer({line}));
    BOOST_TEST((v.next == what::retry_once), line);
    BOOST_TEST((v.kind == error_kind::format), line);
  }
  BOOST_TEST((judged(answer({range, "Content-Range: bytes 0-99/1000"})).next == what::retry_once));
  BOOST_TEST((judged(answer({range, "Content-Length: 101"})).next == what::retry_once));
}

BOOST_AUTO_TEST_CASE(another_version_is_refused_even_where_if_match_is_ignored) {
  auto const size = judged(answer({"Content-Range: bytes 100-199/1001"}));
  BOOST_TEST((size.next == what::refuse && size.kind == error_kind::changed));
  auto const etag = judged(head_of({"HTTP/1.1 206 X", "ETag: \"v2\"", range}));
  BOOST_TEST((etag.next == what::refuse && etag.kind == error_kind::changed));
  auto const both = judged(answer({range, "ETag: \"v2\""}));
  BOOST_TEST((both.next == what::refuse && both.kind == error_kind::changed));
  auto const none = judged(head_of({"HTTP/1.1 206 X", range}));
  BOOST_TEST((none.next == what::refuse && none.kind == error_kind::io));
}

BOOST_AUTO_TEST_CASE(encoded_and_multipart_bodies_are_refused) {
  auto const coded = judged(answer({range, "Content-Encoding: gzip"}));
  BOOST_TEST((coded.next == what::refuse && coded.kind == error_kind::format));
  auto const parts = judged(answer({range, "Content-Type: Multipart/ByteRanges; boundary=b"}));
  BOOST_TEST((parts.next == what::refuse && parts.kind == error_kind::io));
}

BOOST_AUTO_TEST_CASE(status_200_is_right_for_the_whole_object_only) {
  auto const whole = head_of({"HTTP/1.1 200 OK", "ETag: \"v1\"", "Content-Length: 1000"});
  expected_range e{{bytes{0}, bytes{1000}}, bytes{1000}, "\"v1\""};
  BOOST_TEST((judge_range(whole, e).next == what::use));
  BOOST_TEST((judged(whole).next == what::refuse));
  BOOST_TEST((judged(whole).kind == error_kind::io));
  e.range.size = bytes{999};
  BOOST_TEST((judge_range(whole, e).next == what::refuse));
  e.range.size = bytes{1000};
  auto const other = judge_range(head_of({"HTTP/1.1 200 OK", "ETag: \"v1\"", "Content-Length: 1001"}), e);
  BOOST_TEST((other.next == what::refuse && other.kind == error_kind::changed));
  BOOST_TEST((judged(head_of({"HTTP/1.1 204 No Content", "ETag: \"v1\"", range})).next == what::refuse));
}

BOOST_AUTO_TEST_CASE(etags_get_their_quotes) {
  BOOST_TEST(quoted_etag("0x8D") == "\"0x8D\"");
  BOOST_TEST(quoted_etag("\"0x8D\"") == "\"0x8D\"");
  BOOST_TEST(quoted_etag("W/\"a\"") == "W/\"a\"");
  BOOST_TEST(quoted_etag("") == "");
}

BOOST_AUTO_TEST_SUITE_END()
