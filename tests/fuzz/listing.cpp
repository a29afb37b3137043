// A page of a listing in XML: refused, or each file has a proper name and size.
#include <penstock/net/plain_xml.hpp>
#include <penstock/net/url.hpp>
#include <penstock/storage/azure_listing.hpp>

#include "check.hpp"

using namespace penstock;
using namespace fuzz;

namespace {
std::string printed(storage::object_page const& page) {
  std::string xml = "<EnumerationResults><Blobs>";
  for (auto const& f : page.files)
    xml += "<Blob><Name Encoded=\"true\">" + net::percent_encode(f.name) + "</Name><Properties><Content-Length>" +
           std::to_string(f.size.count) + "</Content-Length></Properties></Blob>";
  xml += "</Blobs><NextMarker>";
  for (char const c : page.next) xml += "&#" + std::to_string(static_cast<unsigned char>(c)) + ";";  // only if ASCII
  return xml + "</NextMarker></EnumerationResults>";
}
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(u8 const* data, std::size_t size) {
  auto const xml = text_of(data, size);
  auto page = storage::parse_azure_page(xml);
  if (!page) {
    check_message(page.error(), 500);
    check(page.error().kind() == error_kind::io, "what is no listing is the server's fault");
    return 0;
  }
  check(net::is_plain_xml(xml), "a listing is plain XML");
  check(page->files.size() * 40 <= size, "a listing has no more files than text for them");
  for (auto const& f : page->files) {
    check(!f.name.empty() && f.name.size() <= 4096 && !has(f.name, {"\0", 1}), "a file has a proper name");
    check(f.size.count >> 63 == 0, "a file has a proper size");
  }
  for (char& c : page->next)
    if (static_cast<unsigned char>(c) <= ' ' || static_cast<unsigned char>(c) > 126) c = '_';
  auto const again = storage::parse_azure_page(printed(*page));
  check(again && again->next == page->next && again->files.size() == page->files.size(), "a printed page is read");
  for (std::size_t i = 0; i < page->files.size(); ++i)
    check(again->files[i].name == page->files[i].name && again->files[i].size == page->files[i].size,
          "a printed page says the same");
  return 0;
}
