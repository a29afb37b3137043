#include <penstock/net/url.hpp>
#include <penstock/storage/azure_location.hpp>

#include <boost/test/unit_test.hpp>

using namespace penstock;
using namespace penstock::storage;

namespace {
uri at(std::string_view text) { return uri::parse(text).value(); }
azure_location located(std::string_view text) {
  auto l = locate_azure(at(text));
  BOOST_TEST_REQUIRE(l.has_value(), (l ? "" : l.error().message()));
  return *std::move(l);
}
void is(azure_location const& l, std::string_view account, std::string_view endpoint, std::string_view container,
        std::string_view path) {
  BOOST_TEST(l.account == account);
  BOOST_TEST(l.endpoint == endpoint);
  BOOST_TEST(l.container == container);
  BOOST_TEST(l.path == path);
}
}  // namespace

BOOST_AUTO_TEST_SUITE(storage_azure_location)

BOOST_AUTO_TEST_CASE(a_container_alone_leaves_the_account_open) {
  for (std::string scheme : {"az", "azure", "abfs", "abfss", "wasb", "wasbs", "AZ"})
    is(located(scheme + "://models/llama/3"), "", "", "models", "llama/3");
  is(located("az://models"), "", "", "models", "");
  is(located("az://models/"), "", "", "models", "");
  is(located("az://$root/x"), "", "", "$root", "x");
}

BOOST_AUTO_TEST_CASE(an_account_may_stand_behind_the_container_or_before_it) {
  std::string const blob = "https://acct1.blob.core.windows.net";
  is(located("az://models@acct1.blob.core.windows.net/p/q"), "acct1", blob, "models", "p/q");
  is(located("az://acct1.blob.core.windows.net/models/p/q"), "acct1", blob, "models", "p/q");
  is(located("abfss://models@acct1.dfs.core.windows.net/p"), "acct1", blob, "models", "p");
  is(located("wasbs://models@acct1.blob.core.windows.net/p"), "acct1", blob, "models", "p");
  is(located("az://models@acct1/p"), "acct1", blob, "models", "p");
  is(located("az://m@acct1.blob.core.usgovcloudapi.net/"), "acct1", "https://acct1.blob.core.usgovcloudapi.net", "m",
     "");
  is(located("az://m@acct1.z07.blob.storage.azure.net/p"), "acct1", "https://acct1.z07.blob.storage.azure.net", "m",
     "p");
  is(located("az://m@devstoreaccount1.blob.localhost:10000/p"), "devstoreaccount1",
     "http://devstoreaccount1.blob.localhost:10000", "m", "p");
}

BOOST_AUTO_TEST_CASE(urls_are_decoded_and_may_carry_a_sas) {
  auto const l = located("https://acct1.blob.core.windows.net/models/a%20b/c?sv=1&sig=x%2By");
  is(l, "acct1", "https://acct1.blob.core.windows.net", "models", "a b/c");
  BOOST_TEST(l.sas == "sv=1&sig=x%2By");
  BOOST_TEST(l.exact);
  is(located("https://acct1.dfs.core.windows.net/m/p"), "acct1", "https://acct1.blob.core.windows.net", "m", "p");
  is(located("http://127.0.0.1:10000/devstoreaccount1/models/x"), "devstoreaccount1",
     "http://127.0.0.1:10000/devstoreaccount1", "models", "x");
  is(located("http://localhost:7/acct/m"), "acct", "http://localhost:7/acct", "m", "");
  is(located("https://[::1]/acct/m/x"), "acct", "https://[::1]/acct", "m", "x");
}

// Case H26, the names.
BOOST_AUTO_TEST_CASE(keys_are_literal_except_in_urls) {
  BOOST_TEST(located("az://c/with%20space").path == "with%20space");
  BOOST_TEST(located("az://c/a?b#c").path == "a?b#c");
  BOOST_TEST(located("az://c//x//y").path == "/x//y");
}

// Case H25, the prefix.
BOOST_AUTO_TEST_CASE(a_final_slash_changes_nothing) {
  BOOST_TEST(located("az://c/m/run_dedup").prefix() == "m/run_dedup/");
  BOOST_TEST(located("az://c/m/run_dedup/").prefix() == "m/run_dedup/");
  BOOST_TEST(located("az://c").prefix() == "");
  BOOST_TEST(located("az://c/").prefix() == "");
}

BOOST_AUTO_TEST_CASE(what_cannot_be_a_place_is_refused_without_telling_a_query) {
  for (auto const* text : {"az://",
                           "az:///x",
                           "az://Upper/x",
                           "az://under_score/x",
                           "az://c@evil.example/x",
                           "az://c@a.blob.core.windows.net.evil.example/x",
                           "az://evil.example/c/x",
                           "az://c@/x",
                           "az://-c/x",
                           "https://evil.example/acct/c?sig=geheim",
                           "https://acct1.blob.core.windows.net/",
                           "https://acct1.blob.core.windows.net/c/p?versionid=geheim",
                           "http://127.0.0.1:1/",
                           "http://127.0.0.1:1/x_y/c/p",
                           "https://u:geheim@acct1.blob.core.windows.net/c/p",
                           "https://acct1.blob.core.windows.net/c/100%",
                           "https://acct1.blob.core.windows.net/c/%00",
                           "https://acct1.blob.core.windows.net/c%1b/p",
                           "az://c/p?sv=1&sig=geheim",
                           "s3://b/k",
                           "/a/path"}) {
    auto const l = locate_azure(at(text));
    BOOST_TEST_REQUIRE(!l, text);
    BOOST_TEST((l.error().kind() == error_kind::usage));
    BOOST_TEST(l.error().message().find("geheim") == std::string::npos, text);
    BOOST_TEST(!net::has_control_character(l.error().message()), text);
  }
}

BOOST_AUTO_TEST_CASE(uris_are_told_from_others) {
  for (auto const* text : {"az://c/x", "abfss://c@a/x", "https://acct1.blob.core.windows.net/c/p",
                           "http://127.0.0.1:10000/devstoreaccount1/c/p", "https://acct1.blob.core.windows.net/?x=1"})
    BOOST_TEST(is_azure(at(text)), text);
  for (auto const* text :
       {"s3://b/k", "/a/path", "file:///x", "https://huggingface.example/a/b", "http://127.0.0.1/", "memory://x"})
    BOOST_TEST(!is_azure(at(text)), text);
}

BOOST_AUTO_TEST_SUITE_END()
