#include <penstock/net/plain_xml.hpp>
#include <penstock/storage/azure_listing.hpp>

#include <boost/test/unit_test.hpp>

using namespace penstock;
using namespace penstock::storage;

namespace {
std::string page(std::string const& blobs, std::string const& marker = "") {
  return "\xef\xbb\xbf<?xml version='1.0' encoding='utf-8'?><EnumerationResults ServiceEndpoint=\"x\"><Blobs>" + blobs +
         "</Blobs><NextMarker>" + marker + "</NextMarker></EnumerationResults>";
}
std::string blob(std::string const& name, std::string const& size, std::string const& more = "",
                 std::string const& metadata = "") {
  return "<Blob><Name>" + name + "</Name><Properties><Content-Length>" + size + "</Content-Length>" + more +
         "</Properties>" + metadata + "</Blob>";
}
}  // namespace

BOOST_AUTO_TEST_SUITE(storage_azure_listing)

BOOST_AUTO_TEST_CASE(names_and_sizes_are_read_as_they_stand) {
  auto const p =
      parse_azure_page(
          page(blob("m/a &amp; b &#x41;&lt;.bin", "9223372036854775807") + blob("m/ two  spaces ", "0"), "2!64!a+b=="))
          .value();
  BOOST_TEST_REQUIRE(p.files.size() == 2U);
  BOOST_TEST(p.files[0].name == "m/a & b A<.bin");
  BOOST_TEST((p.files[0].size == bytes{9223372036854775807U}));
  BOOST_TEST(p.files[1].name == "m/ two  spaces ");
  BOOST_TEST(p.next == "2!64!a+b==");
  BOOST_TEST(parse_azure_page(page("")).value().next == "");
  BOOST_TEST(
      parse_azure_page("<EnumerationResults><Blobs /><NextMarker /></EnumerationResults>").value().files.empty());
}

BOOST_AUTO_TEST_CASE(encoded_names_are_decoded) {
  auto const p = parse_azure_page(page("<Blob><Name Encoded=\"true\">a%EF%BF%BE%2F</Name><Properties><Content-Length>1"
                                       "</Content-Length></Properties></Blob>"))
                     .value();
  BOOST_TEST(p.files.at(0).name == "a\xef\xbf\xbe/");
}

// Case H32.
BOOST_AUTO_TEST_CASE(directories_in_either_form_are_left_out_and_empty_files_are_not) {
  auto const p =
      parse_azure_page(page(blob("m/m", "0", "<ResourceType>directory</ResourceType>") +
                            blob("m/sub", "0", "", "<Metadata><hdi_isfolder>true</hdi_isfolder></Metadata>") +
                            blob("m/Sub", "0", "", "<Metadata><Hdi_isfolder>True</Hdi_isfolder></Metadata>") +
                            blob("m/empty.txt", "0") + blob("m/f", "3", "<ResourceType>file</ResourceType>") +
                            "<BlobPrefix><Name>m/p/</Name></BlobPrefix>"))
          .value();
  BOOST_TEST_REQUIRE(p.files.size() == 2U);
  BOOST_TEST(p.files[0].name == "m/empty.txt");
  BOOST_TEST(p.files[1].name == "m/f");
}

BOOST_AUTO_TEST_CASE(what_is_no_listing_is_an_error) {
  std::string deep;
  for (int n = 0; n < 20; ++n) deep += "<x>";
  for (int n = 0; n < 20; ++n) deep += "</x>";
  for (auto const& xml : {std::string(),
                          std::string("{}"),
                          std::string("<html>login</html>"),
                          page(blob("a", "-1")),
                          page(blob("a", "")),
                          page(blob("a", "1.0")),
                          page(blob("a", "9223372036854775808")),
                          page(blob("", "1")),
                          page("<Blob><Properties><Content-Length>1</Content-Length></Properties></Blob>"),
                          page(deep),
                          page("<Blob><Name Encoded=\"true\">a%</Name></Blob>"),
                          page(blob("a", "1")).substr(0, 150),
                          "<!DOCTYPE a [<!ENTITY b 'c'>]>" + page(blob("&b;", "1")),
                          page(blob("&b;", "1")),
                          page(blob("&#0;", "1")),
                          page(blob("&#xD800;", "1")),
                          page(blob("&#x110000;", "1")),
                          page(blob("&amp", "1")),
                          page(blob("\xc0\x80", "1")),
                          page(blob("\xff", "1")),
                          page(blob(std::string("a\0b", 3), "1"))}) {
    auto const p = parse_azure_page(xml);
    BOOST_TEST_REQUIRE(!p, xml);
    BOOST_TEST((p.error().kind() == error_kind::io), xml);
  }
}

BOOST_AUTO_TEST_CASE(plain_xml_may_have_comments_and_literal_sections) {
  BOOST_TEST(net::is_plain_xml("<a><!-- &x; --><![CDATA[&y;]]>&apos;</a>"));
  BOOST_TEST(net::is_plain_xml(""));
  for (auto const* xml :
       {"<!ENTITY a>", "<a>&x;</a>", "<!-- open", "<![CDATA[open", "<a>&#;</a>", "<a>&#x;</a>", "&", "<!-- \xff -->"})
    BOOST_TEST(!net::is_plain_xml(xml), xml);
}

BOOST_AUTO_TEST_SUITE_END()
