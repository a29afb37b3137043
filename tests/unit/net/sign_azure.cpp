#include <penstock/net/sign_azure.hpp>

#include <boost/test/unit_test.hpp>

using namespace penstock;
using namespace penstock::net;

namespace {
/// The emulator's key; it is public.
constexpr std::string_view key =
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";
constexpr std::string_view account = "devstoreaccount1";

http_request dated(std::string url, std::vector<header> more = {}) {
  http_request r{"GET", std::move(url), std::move(more)};
  r.headers.push_back({"x-ms-date", "Fri, 26 Jun 2015 23:39:12 GMT"});
  r.headers.push_back({"x-ms-version", "2023-11-03"});
  return r;
}
std::string signature_of(http_request const& r) {
  return azure_signature(*base64_decode(key), azure_string_to_sign(r, account));
}
azure_authorizer with(azure_proof proof, std::string_view value) {
  return {proof, "acct", secret(value), "AZURE_TEST"};
}
}  // namespace

BOOST_AUTO_TEST_SUITE(net_sign_azure)

BOOST_AUTO_TEST_CASE(a_ranged_get_is_signed_as_in_the_vector) {
  auto const r = dated("https://devstoreaccount1.blob.core.windows.net/models/llama%203/model-00001.safetensors",
                       {{"x-ms-range", "bytes=1048576-9437183"},
                        {"If-Match", "\"0x8D2B7DA5E6CB5D0\""},
                        {"x-ms-client-request-id", "00000000-0000-0000-0000-000000000001"}});
  BOOST_TEST(azure_string_to_sign(r, account) ==
             "GET\n\n\n\n\n\n\n\n\"0x8D2B7DA5E6CB5D0\"\n\n\n\n"
             "x-ms-client-request-id:00000000-0000-0000-0000-000000000001\n"
             "x-ms-date:Fri, 26 Jun 2015 23:39:12 GMT\nx-ms-range:bytes=1048576-9437183\nx-ms-version:2023-11-03\n"
             "/devstoreaccount1/models/llama%203/model-00001.safetensors");
  BOOST_TEST(signature_of(r) == "PxGYbb7T/4d+I43XmaAW0gOSDOZtFq1CNIhgqnx0+lk=");
}

BOOST_AUTO_TEST_CASE(a_listing_is_signed_as_in_the_vector_in_any_order_of_parameters) {
  std::string const host = "https://devstoreaccount1.blob.core.windows.net/models?";
  for (auto const* query : {"restype=container&comp=list&prefix=llama%203%2F&delimiter=%2F&maxresults=5000",
                            "maxresults=5000&Prefix=llama%203/&delimiter=/&COMP=list&restype=container"})
    BOOST_TEST(signature_of(dated(host + query)) == "8we5Q9Mf82DeeZkqA3RJyXuXz2cnHRsDB+72gWIOm8c=");
}

BOOST_AUTO_TEST_CASE(a_path_that_begins_with_the_account_is_signed_with_it_twice) {
  BOOST_TEST(signature_of(dated("http://127.0.0.1:10000/devstoreaccount1/models/x.bin")) ==
             "amZUximdVAKu8JP7we3eg2aJnM2l+kres0ldauAVeVA=");
}

BOOST_AUTO_TEST_CASE(values_are_spaced_once_and_repeated_parameters_joined) {
  auto r = dated("http://h/p?b=2&a=z&a=y");
  r.headers.push_back({"X-Ms-Meta", "  a   b "});
  auto const text = azure_string_to_sign(r, "a");
  BOOST_TEST(text.find("x-ms-meta:a b\n") != std::string::npos);
  BOOST_TEST(text.ends_with("/a/p\na:y,z\nb:2"));
}

BOOST_AUTO_TEST_CASE(base64_is_strict_and_goes_both_ways) {
  std::string all;
  for (int c = 0; c < 256; ++c) all += static_cast<char>(c);
  for (std::size_t n : {1U, 2U, 3U, 32U, 64U, 255U, 256U}) {
    auto const text = base64_encode(std::string_view(all).substr(0, n));
    auto const back = base64_decode(text);
    BOOST_TEST_REQUIRE(back.has_value());
    BOOST_TEST((back->reveal() == std::string_view(all).substr(0, n)));
  }
  for (auto const* text : {"", "YWI", "YW=j", "Y===", "YWI=\n", "YW J", "YWI=YWI=", "?b==", "===="})
    BOOST_TEST(!base64_decode(text).has_value(), text);
}

BOOST_AUTO_TEST_CASE(dates_are_those_of_http) {
  BOOST_TEST(http_date(std::chrono::system_clock::from_time_t(1435361952)) == "Fri, 26 Jun 2015 23:39:12 GMT");
  BOOST_TEST(http_date(std::chrono::system_clock::from_time_t(0)) == "Thu, 01 Jan 1970 00:00:00 GMT");
}

BOOST_AUTO_TEST_CASE(each_attempt_gets_a_version_a_date_an_id_and_the_range_again) {
  auto a = azure_authorizer(azure_proof::shared_key, std::string(account), *base64_decode(key), "test");
  http_request first{"GET", "http://h/c/b", {{"Range", "bytes=0-9"}}}, second = first;
  BOOST_TEST((a.authorize(first).has_value() && a.authorize(second).has_value()));
  BOOST_TEST(first.get("x-ms-version") == azure_version);
  BOOST_TEST(first.get("x-ms-range") == "bytes=0-9");
  BOOST_TEST(first.get("x-ms-client-request-id").size() == 36U);
  BOOST_TEST(first.get("x-ms-client-request-id") != second.get("x-ms-client-request-id"));
  auto unsigned_one = first;
  unsigned_one.headers.pop_back();
  BOOST_TEST(first.headers.back().name == "Authorization");
  BOOST_TEST(first.headers.back().value == "SharedKey devstoreaccount1:" + signature_of(unsigned_one));
}

BOOST_AUTO_TEST_CASE(a_sas_goes_into_the_query_as_it_is_and_behind_ours) {
  std::string const token = "se=2030-01-01T00%3A00%3A00Z&sp=rl&sig=ab%2Bcd%2Fef%3D";
  auto a = with(azure_proof::sas, token);
  http_request list{"GET", "http://h/c?comp=list", {}}, get{"GET", "http://h/c/b", {}};
  BOOST_TEST((a.authorize(list).has_value() && a.authorize(get).has_value()));
  BOOST_TEST(list.url == "http://h/c?comp=list&" + token);
  BOOST_TEST(get.url == "http://h/c/b?" + token);
  BOOST_TEST(get.get("Authorization") == "");
}

BOOST_AUTO_TEST_CASE(a_token_goes_over_https_only) {
  auto a = with(azure_proof::bearer, "t0ken");
  http_request plain{"GET", "http://h/c/b", {}}, safe{"GET", "https://h/c/b", {}};
  BOOST_TEST(!a.authorize(plain).has_value());
  BOOST_TEST(a.authorize(safe).has_value());
  BOOST_TEST(safe.get("Authorization") == "Bearer t0ken");
}

BOOST_AUTO_TEST_CASE(a_line_break_in_a_credential_is_refused) {
  for (auto proof : {azure_proof::sas, azure_proof::bearer}) {
    auto a = with(proof, "abc\r\nX-Evil: 1");
    http_request r{"GET", "https://h/c/b", {}};
    auto const done = a.authorize(r);
    BOOST_TEST_REQUIRE(!done);
    BOOST_TEST((done.error().kind() == error_kind::usage));
    BOOST_TEST(done.error().message().find("abc") == std::string::npos);
  }
}

BOOST_AUTO_TEST_CASE(what_is_said_of_a_credential_is_not_the_credential) {
  for (auto proof : {azure_proof::shared_key, azure_proof::sas, azure_proof::bearer}) {
    auto const text = with(proof, "geheim&sig=geheim").explain();
    BOOST_TEST(text.find("AZURE_TEST") != std::string::npos);
    BOOST_TEST(text.find("geheim") == std::string::npos);
  }
  BOOST_TEST(with(azure_proof::sas, "se=2021-01-01T00%3A00%3A00Z&sig=x").explain().find("expired at 2021-01-01") !=
             std::string::npos);
  BOOST_TEST(with(azure_proof::sas, "se=2999-01-01&sig=x").explain().find("valid until 2999-01-01") !=
             std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
