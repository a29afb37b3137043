#pragma once
#include <cstring>
#include <pugixml.hpp>

#include <penstock/net/plain_xml.ipp>
#include <penstock/net/text.hpp>
#include <penstock/net/url.hpp>
#include <penstock/storage/azure_listing.hpp>

PENSTOCK_BEGIN
namespace storage {
namespace azure_detail {
inline error not_a_listing(char const* found) {
  return error{error_kind::io, std::string("expected a listing of blobs, found ") + found +
                                   "; check that the endpoint is Azure Blob Storage"};
}

inline bool says_true(char const* text) noexcept {
  return std::strcmp(text, "true") == 0 || std::strcmp(text, "True") == 0;
}

/// Accounts with a hierarchical namespace list their directories as empty blobs, in either of two ways.
inline bool is_directory(pugi::xml_node const& blob) {
  if (std::strcmp(blob.child("Properties").child_value("ResourceType"), "directory") == 0) return true;
  for (auto const& m : blob.child("Metadata").children())
    if (net::detail::lower(m.name()) == "hdi_isfolder" && says_true(m.child_value())) return true;
  return false;
}
}  // namespace azure_detail

PENSTOCK_INLINE result<object_page> parse_azure_page(std::string_view xml) {
  pugi::xml_document document;
  if (auto const problem = net::detail::read_plain_xml(document, xml)) return azure_detail::not_a_listing(problem);
  auto const root = document.child("EnumerationResults");
  if (!root || !root.child("Blobs")) return azure_detail::not_a_listing("another document");

  object_page page;
  page.next = root.child_value("NextMarker");
  for (auto const& blob : root.child("Blobs").children("Blob")) {
    if (azure_detail::is_directory(blob)) continue;
    stored_object o;
    auto const name = blob.child("Name");
    o.name = name.child_value();
    if (azure_detail::says_true(name.attribute("Encoded").value())) {
      auto decoded = net::percent_decode(o.name);
      if (!decoded) return azure_detail::not_a_listing("a name with a wrong % in it");
      o.name = *std::move(decoded);
    }
    auto const size = net::detail::number(blob.child("Properties").child_value("Content-Length"));
    if (o.name.empty() || o.name.size() > 4096 || o.name.find('\0') != o.name.npos)
      return azure_detail::not_a_listing("a blob without a proper name");
    if (!size) return azure_detail::not_a_listing("a blob without a proper size");
    o.size = bytes{*size};
    page.files.push_back(std::move(o));
  }
  return page;
}
}  // namespace storage
PENSTOCK_END
