#include <penstock/storage/azure_access.hpp>

#include <boost/test/unit_test.hpp>
#include <map>

using namespace penstock;
using namespace penstock::storage;
using net::azure_proof;

namespace {
azure_location at(std::string_view text) { return locate_azure(uri::parse(text).value()).value(); }
azure_settings environment(std::map<std::string, std::string> const& values) {
  return azure_environment([&](char const* name) -> char const* {
    auto const found = values.find(name);
    return found == values.end() ? nullptr : found->second.c_str();
  });
}
azure_access access(std::string_view where, azure_settings const& options, azure_settings const& env) {
  auto a = resolve_azure(at(where), options, env);
  BOOST_TEST_REQUIRE(a.has_value(), (a ? "" : a.error().message()));
  return *std::move(a);
}
error refusal(std::string_view where, azure_settings const& env) {
  auto a = resolve_azure(at(where), {}, env);
  BOOST_TEST_REQUIRE(!a.has_value());
  return std::move(a).error();
}
constexpr auto key = "c2VjcmV0";
constexpr auto here = "http://127.0.0.1:9";
}  // namespace

BOOST_AUTO_TEST_SUITE(storage_azure_access)

BOOST_AUTO_TEST_CASE(a_connection_string_splits_at_the_first_equals_sign) {
  auto const c = parse_connection_string(
                     "DefaultEndpointsProtocol=https;AccountName=acct;AccountKey=YWI=;"
                     "EndpointSuffix=core.chinacloudapi.cn;")
                     .value();
  BOOST_TEST(c.account == "acct");
  BOOST_TEST(c.key == "YWI=");
  BOOST_TEST(c.endpoint == "https://acct.blob.core.chinacloudapi.cn");
  auto const own = parse_connection_string(
                       "BlobEndpoint=http://127.0.0.1:9/acct/;AccountName=acct;"
                       "SharedAccessSignature=?sv=1&sig=a%3D")
                       .value();
  BOOST_TEST(own.endpoint == "http://127.0.0.1:9/acct");
  BOOST_TEST(own.sas == "sv=1&sig=a%3D");
  BOOST_TEST(parse_connection_string("BlobEndpoint=https://acct.blob.core.windows.net").value().account == "acct");
  BOOST_TEST(parse_connection_string("BlobEndpoint=http://127.0.0.1:9/acct").value().account == "acct");
}

BOOST_AUTO_TEST_CASE(the_development_store_is_the_emulator) {
  auto const c = parse_connection_string("UseDevelopmentStorage=true").value();
  BOOST_TEST(c.account == "devstoreaccount1");
  BOOST_TEST(c.endpoint == "http://127.0.0.1:10000/devstoreaccount1");
  BOOST_TEST(net::base64_decode(c.key).has_value());
  auto const other =
      parse_connection_string("UseDevelopmentStorage=true;DevelopmentStorageProxyUri=http://h:7/").value();
  BOOST_TEST(other.endpoint == "http://h:7/devstoreaccount1");
}

BOOST_AUTO_TEST_CASE(a_broken_connection_string_is_not_repeated) {
  for (auto const* text :
       {"AccountName;AccountKey=geheim", "geheim", "DefaultEndpointsProtocol=geheim;AccountName=a"}) {
    auto const c = parse_connection_string(text);
    BOOST_TEST_REQUIRE(!c, text);
    BOOST_TEST((c.error().kind() == error_kind::access));
    BOOST_TEST(c.error().message().find("geheim") == std::string::npos);
  }
}

BOOST_AUTO_TEST_CASE(the_environment_has_several_names_for_the_key) {
  for (std::string name : {"AZURE_STORAGE_ACCOUNT_KEY", "AZURE_STORAGE_ACCESS_KEY", "AZURE_STORAGE_KEY"})
    BOOST_TEST(environment({{name, "k"}}).key == "k");
  BOOST_TEST(environment({{"AZURE_STORAGE_ACCOUNT_KEY", ""}, {"AZURE_STORAGE_KEY", "k"}}).key == "k");
  BOOST_TEST(environment({{"AZURE_STORAGE_ANON", "true"}}).anonymous);
  BOOST_TEST(!environment({{"AZURE_STORAGE_ANON", "false"}}).anonymous);
  BOOST_TEST(!environment({}).anonymous);
}

BOOST_AUTO_TEST_CASE(account_and_key_make_the_usual_endpoint) {
  auto const a =
      access("az://c/m", {}, environment({{"AZURE_STORAGE_ACCOUNT_NAME", "acct"}, {"AZURE_STORAGE_KEY", key}}));
  BOOST_TEST(a.account == "acct");
  BOOST_TEST(a.endpoint == "https://acct.blob.core.windows.net");
  BOOST_TEST((a.signer->proof() == azure_proof::shared_key));
}

BOOST_AUTO_TEST_CASE(an_endpoint_may_have_a_path_and_a_final_slash) {
  for (std::string end : {"", "/"}) {
    auto const a = access(
        "az://c/m", {},
        environment({{"AZURE_STORAGE_ENDPOINT", std::string(here) + "/acct" + end}, {"AZURE_STORAGE_KEY", key}}));
    BOOST_TEST(a.account == "acct");
    BOOST_TEST(a.endpoint == std::string(here) + "/acct");
  }
}

BOOST_AUTO_TEST_CASE(the_account_of_the_uri_wins) {
  auto const env = environment({{"AZURE_STORAGE_ACCOUNT_NAME", "other"},
                                {"AZURE_STORAGE_ENDPOINT", std::string(here) + "/other"},
                                {"AZURE_STORAGE_KEY", key}});
  auto const a = access("az://c@acct.blob.core.windows.net/m", {}, env);
  BOOST_TEST(a.account == "acct");
  BOOST_TEST(a.endpoint == "https://acct.blob.core.windows.net");
  auto const same = access("az://c@other.blob.core.windows.net/m", {}, env);
  BOOST_TEST(same.endpoint == std::string(here) + "/other");
  auto const url = access("https://other.blob.core.windows.net/c/m", {}, env);
  BOOST_TEST(url.endpoint == "https://other.blob.core.windows.net");
}

BOOST_AUTO_TEST_CASE(credentials_have_an_order) {
  std::map<std::string, std::string> values{{"AZURE_STORAGE_ACCOUNT_NAME", "acct"}};
  auto const proof = [&](std::string_view where = "az://c/m", azure_settings const& options = {}) {
    return access(where, options, environment(values)).signer->explain();
  };
  auto const says = [](std::string const& text, char const* part) { return text.find(part) != std::string::npos; };
  values["AZURE_STORAGE_ANON"] = "1";
  BOOST_TEST(says(proof(), "AZURE_STORAGE_ANON"));
  values["AZURE_STORAGE_TOKEN"] = "t";
  BOOST_TEST(says(proof(), "AZURE_STORAGE_TOKEN"));
  values["AZURE_STORAGE_SAS_TOKEN"] = "?sig=x";
  BOOST_TEST(says(proof(), "AZURE_STORAGE_SAS_TOKEN"));
  values["AZURE_STORAGE_KEY"] = key;
  BOOST_TEST(says(proof(), "AZURE_STORAGE_ACCOUNT_KEY"));
  values["AZURE_STORAGE_CONNECTION_STRING"] = std::string("AccountName=acct;AccountKey=") + key;
  BOOST_TEST(says(proof(), "AZURE_STORAGE_CONNECTION_STRING"));
  auto const url = "https://acct.blob.core.windows.net/c/m?sig=x";
  BOOST_TEST(says(proof(url), "SAS in the URI"));
  azure_settings options;
  options.anonymous = true;
  BOOST_TEST(says(proof(url, options), "option anonymous"));
  options.sas = "sig=y";
  BOOST_TEST(says(proof(url, options), "option sas"));
  options.key = key;
  BOOST_TEST(says(proof(url, options), "option key"));
}

BOOST_AUTO_TEST_CASE(a_connection_string_is_for_its_own_account) {
  auto const env = environment({{"AZURE_STORAGE_CONNECTION_STRING", "AccountName=other;AccountKey=c2VjcmV0"}});
  auto const e = refusal("az://c@acct.blob.core.windows.net/m", env);
  BOOST_TEST((e.kind() == error_kind::access));
  BOOST_TEST(e.message().find("other") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(nothing_is_asked_anonymously_unless_that_was_said) {
  auto const e = refusal("az://c/m", environment({{"AZURE_STORAGE_ACCOUNT_NAME", "acct"}}));
  BOOST_TEST((e.kind() == error_kind::access));
  for (auto const* name : {"AZURE_STORAGE_CONNECTION_STRING", "AZURE_STORAGE_ACCOUNT_KEY", "AZURE_STORAGE_SAS_TOKEN",
                           "AZURE_STORAGE_TOKEN", "AZURE_STORAGE_ANON"})
    BOOST_TEST(e.message().find(name) != std::string::npos, name);
}

BOOST_AUTO_TEST_CASE(without_an_account_the_error_says_how_to_give_one) {
  auto const e = refusal("az://c/m", {});
  BOOST_TEST((e.kind() == error_kind::access));
  BOOST_TEST(e.message().find("AZURE_STORAGE_ACCOUNT_NAME") != std::string::npos);
  BOOST_TEST((refusal("az://c/m", environment({{"AZURE_STORAGE_ACCOUNT_NAME", "evil.example/"}})).kind() ==
              error_kind::access));
}

BOOST_AUTO_TEST_CASE(a_key_that_is_no_base64_is_not_repeated) {
  auto const e =
      refusal("az://c/m", environment({{"AZURE_STORAGE_ACCOUNT_NAME", "acct"}, {"AZURE_STORAGE_KEY", "geheim!"}}));
  BOOST_TEST((e.kind() == error_kind::access));
  BOOST_TEST(e.message().find("base64") != std::string::npos);
  BOOST_TEST(e.message().find("geheim") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_credential_of_the_environment_goes_to_no_host_that_only_a_uri_names) {
  auto const env = environment({{"AZURE_STORAGE_SAS_TOKEN", "sig=x"}, {"AZURE_STORAGE_TOKEN", "t"}});
  BOOST_TEST((refusal("http://10.1.2.3:8/acct/c/m", env).kind() == error_kind::access));
  auto const keyed = environment({{"AZURE_STORAGE_KEY", key}});
  BOOST_TEST((refusal("http://10.1.2.3:8/acct/c/m", keyed).kind() == error_kind::access));
  BOOST_TEST((access("https://acct.blob.core.windows.net/c/m", {}, keyed).signer->proof() == azure_proof::shared_key));
  BOOST_TEST((access("http://127.0.0.1:8/acct/c/m", {}, env).signer->proof() == azure_proof::sas));
  auto const named = environment({{"AZURE_STORAGE_SAS_TOKEN", "sig=x"}, {"AZURE_STORAGE_ACCOUNT_NAME", "mine"}});
  BOOST_TEST((refusal("az://c@theirs.blob.core.windows.net/m", named).kind() == error_kind::access));
  auto const endpoint =
      environment({{"AZURE_STORAGE_SAS_TOKEN", "sig=x"}, {"AZURE_STORAGE_ENDPOINT", "http://10.1.2.3:8/acct"}});
  BOOST_TEST((access("http://10.1.2.3:8/acct/c/m", {}, endpoint).signer->proof() == azure_proof::sas));
}

BOOST_AUTO_TEST_CASE(a_token_is_for_https) {
  auto const env = environment({{"AZURE_STORAGE_TOKEN", "t"}, {"AZURE_STORAGE_ENDPOINT", std::string(here) + "/acct"}});
  BOOST_TEST((refusal("az://c/m", env).kind() == error_kind::access));
}

BOOST_AUTO_TEST_SUITE_END()
