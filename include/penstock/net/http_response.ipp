#pragma once
#include <penstock/net/http_response.hpp>
#include <penstock/net/text.hpp>

PENSTOCK_BEGIN
namespace net {
PENSTOCK_INLINE void response_head::take_line(std::string_view line) {
  size_ += line.size();
  if (ended_) return;
  if (line.starts_with("HTTP/")) {
    status_ = 0;
    headers_.clear();
    auto const at = line.find(' ');
    if (at == line.npos) return;
    if (auto const n = detail::number(detail::trimmed(line.substr(at + 1, 3)))) status_ = static_cast<int>(*n);
    return;
  }
  if (detail::trimmed(line).empty()) {
    ended_ = status_ >= 200;
    return;
  }
  auto const colon = line.find(':');
  if (colon == line.npos) return;
  headers_.push_back(
      {detail::lower(detail::trimmed(line.substr(0, colon))), std::string(detail::trimmed(line.substr(colon + 1)))});
}

PENSTOCK_INLINE std::optional<std::string_view> response_head::get(std::string_view name) const noexcept {
  for (auto const& h : headers_)
    if (h.name == name) return h.value;
  return std::nullopt;
}

PENSTOCK_INLINE bool response_head::contradicts_itself(std::string_view name) const noexcept {
  auto const first = get(name);
  for (auto const& h : headers_)
    if (h.name == name && h.value != *first) return true;
  return false;
}

PENSTOCK_INLINE std::optional<bytes> response_head::content_length() const noexcept {
  auto const value = get("content-length");
  auto const n = value ? detail::number(*value) : std::nullopt;
  if (!n) return std::nullopt;
  return bytes{*n};
}

PENSTOCK_INLINE std::string response_head::etag() const { return std::string(get("etag").value_or("")); }

PENSTOCK_INLINE std::optional<content_range> parse_content_range(std::string_view value) noexcept {
  if (value.size() < 6 || detail::lower(value.substr(0, 6)) != "bytes ") return std::nullopt;
  value = detail::trimmed(value.substr(6));
  auto const slash = value.find('/');
  if (slash == value.npos) return std::nullopt;
  content_range c;
  auto const total = value.substr(slash + 1);
  if (total != "*") {
    auto const n = detail::number(total);
    if (!n) return std::nullopt;
    c.total = bytes{*n};
  }
  auto const range = value.substr(0, slash);
  if (range == "*") return c;
  auto const dash = range.find('-');
  if (dash == range.npos) return std::nullopt;
  auto const first = detail::number(range.substr(0, dash)), last = detail::number(range.substr(dash + 1));
  if (!first || !last || *last < *first || (c.total && *last >= c.total->count)) return std::nullopt;
  c.range = byte_range{bytes{*first}, bytes{*last - *first + 1}};
  return c;
}

PENSTOCK_INLINE std::string quoted_etag(std::string_view etag) {
  if (etag.empty() || etag.front() == '"' || etag.starts_with("W/")) return std::string(etag);
  return "\"" + std::string(etag) + "\"";
}

PENSTOCK_INLINE verdict judge_range(response_head const& head, expected_range const& expected) {
  using what = verdict::what;
  auto const& asked = expected.range;
  if (auto const coding = head.get("content-encoding"); coding && detail::lower(*coding) != "identity")
    return {what::refuse, error_kind::format,
            "expected the bytes as stored, found Content-Encoding " + std::string(coding->substr(0, 32)) +
                "; store the object without an encoding"};
  if (head.contradicts_itself("content-length") || (head.get("content-length") && !head.content_length()))
    return {what::retry, error_kind::io, "the answer's Content-Length is no single number"};
  auto const length = head.content_length();
  bool const chunked = head.get("transfer-encoding").has_value();

  if (head.status() == 200) {
    bool const whole = asked.first == bytes{0} && asked.size == expected.total;
    if (!whole && !expected.whole)
      return {what::refuse, error_kind::io,
              "expected status 206 for bytes " + detail::text_of(asked) +
                  ", found 200: the server ignores Range; read from a server that honours it"};
    if (length && *length != expected.total && !chunked)
      return {what::refuse, error_kind::changed,
              "expected an object of " + std::to_string(expected.total.count) + " bytes, found " +
                  std::to_string(length->count) + "; load again"};
  } else if (head.status() != 206) {
    return {what::refuse, error_kind::io, "expected status 206, found " + std::to_string(head.status())};
  }

  if (!expected.etag.empty()) {
    auto const found = head.etag();
    if (found.empty())
      return {what::refuse, error_kind::io,
              "expected the ETag that says which version this is, found none; read from a server that sends it"};
    if (found != expected.etag || head.contradicts_itself("etag"))
      return {what::refuse, error_kind::changed,
              "expected version " + std::string(expected.etag) + ", found " + found.substr(0, 80) +
                  ": the object was overwritten while it was read; load again"};
  } else if (!expected.modified.empty() && head.get("last-modified") != expected.modified) {
    return {what::refuse, error_kind::changed,
            "expected the object of " + std::string(expected.modified) + ", found one of " +
                std::string(head.get("last-modified").value_or("no date").substr(0, 40)) +
                ": it was overwritten while it was read; load again"};
  }
  if (head.status() == 200) return {};

  if (auto const type = head.get("content-type"); type && detail::lower(*type).starts_with("multipart/byteranges"))
    return {what::refuse, error_kind::io, "expected one range, found a multipart answer; no part of it can be used"};
  auto const value = head.get("content-range");
  auto const range = value && !head.contradicts_itself("content-range") ? parse_content_range(*value) : std::nullopt;
  if (range && range->total && *range->total != expected.total)
    return {what::refuse, error_kind::changed,
            "expected an object of " + std::to_string(expected.total.count) + " bytes, found " +
                std::to_string(range->total->count) + "; load again"};
  if (!range || range->range != asked)
    return {what::retry_once, error_kind::format,
            "expected Content-Range bytes " + detail::text_of(asked) + ", found " +
                (value ? std::string(value->substr(0, 80)) : "none") + "; look for a proxy that changes answers"};
  if (length && !chunked && *length > asked.size)
    return {what::retry_once, error_kind::format,
            "expected " + std::to_string(asked.size.count) + " bytes, found Content-Length " +
                std::to_string(length->count) + "; look for a proxy that changes answers"};
  verdict v;
  v.close_after = length && !chunked && *length < asked.size;  // what follows on that connection may be the rest
  return v;
}
}  // namespace net
PENSTOCK_END
