// The headers of an HTTP answer, line by line, and what is concluded from them.
#include <penstock/net/http_failure.hpp>
#include <penstock/net/http_response.hpp>
#include <penstock/net/retry.hpp>
#include <penstock/net/text.hpp>

#include "check.hpp"

using namespace penstock;
using namespace fuzz;

namespace {
void check_content_range(std::string_view value) {
  auto const c = net::parse_content_range(value);
  if (!c) return;
  check(c->range || c->total || has(value, "*/*"), "a range or a total is known");
  if (c->range) {
    auto const [first, length] = *c->range;
    check(length.count > 0 && (first + length).count > first.count, "a range has bytes");
    check(!c->total || c->range->end() <= *c->total, "a range lies inside its object");
  }
  auto const text = "bytes " + (c->range ? net::detail::text_of(*c->range) : "*") + "/" +
                    (c->total ? std::to_string(c->total->count) : "*");
  auto const again = net::parse_content_range(text);
  check(again && again->range == c->range && again->total == c->total, "a printed range is the same");
}

void check_verdict(net::response_head const& head, net::expected_range const& expected) {
  auto const v = net::judge_range(head, expected);
  if (v.next != net::verdict::what::use) return check(!v.why.empty() && v.why.size() < 500, "a refusal says why");
  check(head.status() == 200 || head.status() == 206, "only good answers are used");
  check(expected.etag.empty() || head.etag() == expected.etag, "only the pinned version is used");
  check(!head.contradicts_itself("content-length"), "an answer has one length");
  if (head.status() == 200)
    return check(expected.range.size == expected.total, "a whole object is used for itself only");
  auto const range = net::parse_content_range(*head.get("content-range"));
  check(range && range->range == expected.range, "only the range that was asked for is used");
  check(!range->total || *range->total == expected.total, "only an object of the same size is used");
}
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(u8 const* data, std::size_t size) {
  auto text = text_of(data, size);
  net::response_head head;
  std::size_t lines = 0;
  for (; !text.empty(); ++lines) {
    auto const line = text.substr(0, text.find('\n') == text.npos ? text.npos : text.find('\n') + 1);
    text.remove_prefix(line.size());
    if (head.ended()) break;  // the rest is the body
    head.take_line(line);
  }
  check(head.size() <= size && head.headers().size() <= lines, "a head is no longer than its text");
  check(head.status() >= 0 && head.status() < 1000, "a status has three digits");
  check(!head.ended() || head.status() >= 200, "only a final answer ends");
  for (auto const& h : head.headers()) {
    check(h.name == net::detail::lower(h.name), "names are in lower case");
    check(net::detail::trimmed(h.value) == h.value && !has(h.value, "\n"), "values are trimmed");
    check(head.get(h.name).has_value(), "a header is found by its name");
    check_content_range(h.value);
    auto const tag = net::quoted_etag(h.value);
    check(net::quoted_etag(tag) == tag, "an ETag is quoted once");
  }
  if (auto const n = head.content_length()) check(n->count >> 63 == 0, "a length has 63 bits");
  for (std::string_view const etag : {"", "\"0x8D\""}) {
    check_verdict(head, {{bytes{0}, bytes{100}}, bytes{100}, etag});
    check_verdict(head, {{bytes{100}, bytes{28}}, bytes{1000}, etag});
  }
  auto const e = net::refused(head, text, "az://c/m", bytes{100}, "key");
  check_message(e, 500);
  check(!has_control_character(e.where().store_code + e.where().request_id), "names of the store are plain");
  auto const wait = net::retry_hint(head, std::chrono::system_clock::time_point{std::chrono::seconds{1'700'000'000}});
  check(!wait || wait->count() >= 0, "nobody waits for less than nothing");
  return 0;
}
