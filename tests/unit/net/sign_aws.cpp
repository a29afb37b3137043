#include <penstock/net/sign_aws.hpp>
#include <penstock/net/url.hpp>

#include <boost/test/unit_test.hpp>

using namespace penstock;
using namespace penstock::net;

namespace {
aws_keys example(std::string_view token = {}) {
  return {"AKIAIOSFODNN7EXAMPLE", secret("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"), secret(token), std::nullopt,
          "test"};
}
auto const then = *parse_timestamp("2013-05-24T00:00:00Z");
constexpr char const* nothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/// The request, signed with the example's keys.
http_request signed_request(std::string method, std::string url, std::vector<header> headers,
                            char const* payload = nothing, std::string region = "us-east-1",
                            std::string_view token = {}) {
  http_request r{std::move(method), std::move(url), std::move(headers)};
  r.headers.push_back({"x-amz-content-sha256", payload});
  sign_aws(r, example(token), {std::move(region)}, then);
  return r;
}
std::string signature_of(http_request const& r) {
  auto const proof = r.get("Authorization");
  return std::string(proof.substr(proof.rfind('=') + 1));
}
}  // namespace

BOOST_AUTO_TEST_SUITE(net_sign_aws)

BOOST_AUTO_TEST_CASE(the_examples_of_the_documentation) {
  std::string const host = "https://examplebucket.s3.amazonaws.com";
  auto const r = signed_request("GET", host + "/test.txt", {{"Range", "bytes=0-9"}});
  BOOST_TEST(r.get("x-amz-date") == "20130524T000000Z");
  BOOST_TEST(r.get("Authorization") ==
             "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, "
             "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, "
             "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
  BOOST_TEST(signature_of(signed_request("GET", host + "/?lifecycle", {})) ==
             "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
  for (auto const* query : {"/?max-keys=2&prefix=J", "/?prefix=J&max-keys=2"})
    BOOST_TEST(signature_of(signed_request("GET", host + query, {})) ==
               "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
}

BOOST_AUTO_TEST_CASE(a_key_with_every_special_character_and_a_session_token) {
  std::string const key = "dir a/f+%&=~\xc3\xbc$@!*'()[]{},;:#?\"<>|`^.bin";
  auto const path = "/models/" + percent_encode(key);
  BOOST_TEST(
      path ==
      "/models/dir%20a/f%2B%25%26%3D~%C3%BC%24%40%21%2A%27%28%29%5B%5D%7B%7D%2C%3B%3A%23%3F%22%3C%3E%7C%60%5E.bin");
  auto const r =
      signed_request("GET", "https://s3.eu-west-1.amazonaws.com" + path,
                     {{"Range", "bytes=1048576-9437183"}, {"If-Match", "\"0123456789abcdef0123456789abcdef-17\""}},
                     nothing, "eu-west-1", "FwoGZXIvYXdzEXAMPLE//////////wEaDA==");
  BOOST_TEST(sha256_hex(aws_canonical_request([&] {
               auto unsigned_one = r;
               unsigned_one.headers.pop_back();
               return unsigned_one;
             }())) == "73d07b35d0f563c710a650afe3bc04d1f0cbf96fa52457757930a887c462c91b");
  BOOST_TEST(signature_of(r) == "00659a796cac97a6f7d70887dff455b03131572e0890c42e94ad59ddd031af45");
}

BOOST_AUTO_TEST_CASE(a_page_of_a_listing) {
  std::string url = "https://models.s3.eu-west-1.amazonaws.com/?list-type=2&delimiter=%2F&encoding-type=url";
  url += "&prefix=" + percent_encode_value("llama 3/70b+/");
  url += "&continuation-token=" + percent_encode_value("1ueGcxLPRx1Tr/XYExHnhbYLgveDs2J/wm36Hy4vbOwM=");
  BOOST_TEST(signature_of(signed_request("GET", url, {}, nothing, "eu-west-1")) ==
             "5488f42b5bc2e3da3db50cff3e1f10fb2f17d7a25013ee042ac7bc3b525cdc3a");
}

BOOST_AUTO_TEST_CASE(a_path_is_not_normalised_and_a_port_of_its_own_is_signed) {
  BOOST_TEST(signature_of(signed_request("GET", "http://127.0.0.1:9000/b//a/./../c//d", {{"Range", "bytes=0-0"}},
                                         "UNSIGNED-PAYLOAD")) ==
             "9128a0c1909e9599b1f67897ab436cb9755020aca826fdb1e4b37fc6bf6a0c84");
}

BOOST_AUTO_TEST_CASE(headers_of_amazon_s_own_are_signed) {
  auto const url = "https://models.s3.us-east-1.amazonaws.com:443/k?versionId=" +
                   percent_encode_value("3/L4kqtJlcpXroDTDmJ+rmSpXd3dIbrHY");
  BOOST_TEST(
      signature_of(signed_request(
          "HEAD", url, {{"x-amz-request-payer", "requester"}, {"x-amz-checksum-mode", " ENABLED"}, {"Accept", "*/*"}},
          "UNSIGNED-PAYLOAD")) == "0e51ed803295d0557e5b3cb4afb4071b1b8ed7dff46c846e0c8821eecff386e1");
}

BOOST_AUTO_TEST_CASE(googles_form_of_the_interface) {
  http_request r{"GET",
                 "https://storage.googleapis.com/models/a%20b.bin",
                 {{"Range", "bytes=0-9"}, {"x-amz-content-sha256", nothing}}};
  sign_aws(r, {"GOOG1EXAMPLE", secret("secret"), {}, {}, {}}, {"auto"}, then);
  BOOST_TEST(signature_of(r) == "f66e8396fe14f8b17e827dcf5829140b8a5479eef1274333680d39f36d366701");
}

BOOST_AUTO_TEST_CASE(times_are_read_strictly) {
  using std::chrono::seconds;
  BOOST_TEST((parse_timestamp("2013-05-24T00:00:07.25Z") == then + seconds(7)));
  BOOST_TEST((parse_timestamp("2013-05-24T01:30:00+01:30") == then));
  BOOST_TEST((parse_timestamp("2013-05-23T19:00:00-05:00") == then));
  BOOST_TEST(aws_date(then) == "20130524T000000Z");
  for (auto const* text : {"", "2013-05-24", "2013-13-24T00:00:00Z", "2013-05-24T00:00:00", "2013-05-24T24:00:00Z",
                           "2013-05-24T00:00:00+1:30", "20130524T000000Z", "2013-05-24T00:00:00Zx"})
    BOOST_TEST(!parse_timestamp(text).has_value(), text);
}

BOOST_AUTO_TEST_SUITE_END()
