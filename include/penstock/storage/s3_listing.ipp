#pragma once
#include <cstring>
#include <pugixml.hpp>

#include <penstock/net/plain_xml.ipp>
#include <penstock/net/text.hpp>
#include <penstock/net/url.hpp>
#include <penstock/storage/s3_listing.hpp>

PENSTOCK_BEGIN
namespace storage {
namespace s3_detail {
inline error not_a_page(std::string const& found) {
  return error{error_kind::io,
               "expected a listing of objects, found " + found + "; check that the endpoint is an S3 service"};
}

/// A key of a page with `EncodingType` url: form encoding, where a `+` is a space.
inline result<std::string> form_decoded(std::string text) {
  for (char& c : text)
    if (c == '+') c = ' ';
  return net::percent_decode(text);
}
}  // namespace s3_detail

PENSTOCK_INLINE result<object_page> parse_s3_page(std::string_view xml) {
  pugi::xml_document document;
  if (auto const* const problem = net::detail::read_plain_xml(document, xml)) return s3_detail::not_a_page(problem);
  auto const root = document.child("ListBucketResult");
  if (!root) {
    auto const code = document.child("Error").child_value("Code");
    return s3_detail::not_a_page(*code ? "the error " + std::string(code).substr(0, 64) : "another document");
  }
  bool const encoded = std::strcmp(root.child_value("EncodingType"), "url") == 0;
  object_page page;
  for (auto const& entry : root.children("Contents")) {
    std::string key = entry.child_value("Key");
    if (encoded) {
      auto decoded = s3_detail::form_decoded(std::move(key));
      if (!decoded) return s3_detail::not_a_page("a key with a wrong % in it");
      key = *std::move(decoded);
    }
    auto const size = net::detail::number(entry.child_value("Size"));
    if (key.empty() || key.size() > 4096 || key.find('\0') != key.npos)
      return s3_detail::not_a_page("an object without a proper key");
    if (!size) return s3_detail::not_a_page("an object without a proper size");
    page.files.push_back({std::move(key), bytes{*size}});
  }
  if (std::strcmp(root.child_value("IsTruncated"), "true") == 0) {
    page.next = root.child_value("NextContinuationToken");
    if (page.next.empty()) return s3_detail::not_a_page("a page that is not the last and names no next one");
  }
  return page;
}
}  // namespace storage
PENSTOCK_END
