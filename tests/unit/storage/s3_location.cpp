#include <penstock/storage/s3_access.hpp>
#include <penstock/storage/s3_listing.hpp>

#include "../net/aws_machine.hpp"

#include <boost/test/unit_test.hpp>

using namespace penstock;
using namespace penstock::storage;

namespace {
uri at(std::string_view text) { return uri::parse(text).value(); }
/// Where a key `k` below the root is asked for, and the region that signs it.
std::string asked(std::string_view root, aws_machine m = {}, s3_settings said = {}) {
  m.variables["AWS_NO_SIGN_REQUEST"] = "true";
  auto const where = locate_s3(at(root));
  if (!where) return where.error().message();
  auto const a = resolve_s3(*where, said, m.surroundings(), {});
  if (!a) return a.error().message();
  return a->bucket_url + "/" + where->prefix() + "k " + a->region + (a->discover ? " ?" : "");
}
}  // namespace

BOOST_AUTO_TEST_SUITE(storage_s3)

BOOST_AUTO_TEST_CASE(forms_of_uris) {
  aws_machine const m{{{"AWS_REGION", "eu-west-1"}}, {}};
  BOOST_TEST(asked("s3://bkt/a/b", m) == "https://bkt.s3.eu-west-1.amazonaws.com/a/b/k eu-west-1 ?");
  BOOST_TEST(asked("s3a://bkt/a/b/", m) == "https://bkt.s3.eu-west-1.amazonaws.com/a/b/k eu-west-1 ?");
  BOOST_TEST(asked("s3://bkt", m) == "https://bkt.s3.eu-west-1.amazonaws.com/k eu-west-1 ?");
  BOOST_TEST(asked("s3://bkt/", m) == "https://bkt.s3.eu-west-1.amazonaws.com/k eu-west-1 ?");
  BOOST_TEST(asked("s3://my.bkt/p", m) == "https://s3.eu-west-1.amazonaws.com/my.bkt/p/k eu-west-1 ?");
  BOOST_TEST(asked("s3://BktUpper/p", m) == "https://s3.eu-west-1.amazonaws.com/BktUpper/p/k eu-west-1 ?");
  BOOST_TEST(asked("https://bkt.s3.us-west-2.amazonaws.com/p", m) ==
             "https://bkt.s3.us-west-2.amazonaws.com/p/k us-west-2");
  BOOST_TEST(asked("https://s3.us-west-2.amazonaws.com/bkt/p", m) ==
             "https://bkt.s3.us-west-2.amazonaws.com/p/k us-west-2");
  BOOST_TEST(asked("https://bkt.s3-us-west-2.amazonaws.com/p", m) ==
             "https://bkt.s3.us-west-2.amazonaws.com/p/k us-west-2");
  BOOST_TEST(asked("https://s3.dualstack.us-west-2.amazonaws.com/bkt/p", m) ==
             "https://bkt.s3.us-west-2.amazonaws.com/p/k us-west-2");
  BOOST_TEST(asked("https://bkt.s3.amazonaws.com/p%20q", m) ==
             "https://bkt.s3.eu-west-1.amazonaws.com/p q/k eu-west-1 ?");
  BOOST_TEST(asked("https://a.b.s3.us-west-2.amazonaws.com/p", m) ==
             "https://s3.us-west-2.amazonaws.com/a.b/p/k us-west-2");
  BOOST_TEST(asked("https://acc.r2.cloudflarestorage.com/bkt/p", m) ==
             "https://acc.r2.cloudflarestorage.com/bkt/p/k auto");
  BOOST_TEST(asked("s3://arn:aws:s3:eu-west-1:123456789012:accesspoint/mine/p") ==
             "https://mine-123456789012.s3-accesspoint.eu-west-1.amazonaws.com/p/k eu-west-1");
  BOOST_TEST(asked("s3://bkt/p") == "https://bkt.s3.us-east-1.amazonaws.com/p/k us-east-1 ?");
}

BOOST_AUTO_TEST_CASE(wrong_uris) {
  for (auto const* text :
       {"s3://", "s3:///k", "s3://b b/k", "s3://../k", "https://example.com/b/k", "az://c/m", "/a/b",
        "s3://arn:aws:s3::1:accesspoint/mrap", "s3://arn:aws:s3:eu-west-1:x:accesspoint/n/p",
        "https://bkt.s3.us-west-2.amazonaws.com/p?X-Amz-Signature=SECRET", "https://xs3.amazonaws.com/b"}) {
    auto const l = locate_s3(at(text));
    BOOST_TEST_REQUIRE(!l, text);
    BOOST_TEST((l.error().kind() == error_kind::usage));
    BOOST_TEST(l.error().message().find("SECRET") == std::string::npos);
  }
  BOOST_TEST(is_s3(at("s3n://b/k")));
  BOOST_TEST(is_s3(at("https://bkt.s3.eu-west-1.amazonaws.com/")));
  BOOST_TEST(!is_s3(at("https://bkt.blob.core.windows.net/c")));
  BOOST_TEST(!is_s3(at("http://127.0.0.1:9000/b/k")));
}

BOOST_AUTO_TEST_CASE(endpoints_of_somebodys_own) {
  aws_machine m{{{"AWS_ENDPOINT_URL", "http://127.0.0.1:9000/"}}, {}};
  BOOST_TEST(asked("s3://bkt/p", m) == "http://127.0.0.1:9000/bkt/p/k us-east-1");
  m.variables["AWS_ENDPOINT_URL_S3"] = "https://minio.example.com/base";
  BOOST_TEST(asked("s3://bkt/p", m) == "https://minio.example.com/base/bkt/p/k us-east-1");
  s3_settings said;
  said.addressing = "virtual";
  BOOST_TEST(asked("s3://bkt/p", m, said) == "https://bkt.minio.example.com/base/p/k us-east-1");
  BOOST_TEST(asked("s3://b.kt/p", m, said) == "https://minio.example.com/base/b.kt/p/k us-east-1");
  said.endpoint = "http://127.0.0.1:1";
  BOOST_TEST(asked("s3://bkt/p", m, said) == "http://127.0.0.1:1/bkt/p/k us-east-1");
  BOOST_TEST(asked("https://bkt.s3.eu-west-1.amazonaws.com/p", m) ==
             "https://bkt.s3.eu-west-1.amazonaws.com/p/k eu-west-1");
  m.variables["AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"] = "true";
  BOOST_TEST(asked("s3://bkt/p", m) == "https://bkt.s3.us-east-1.amazonaws.com/p/k us-east-1 ?");
  BOOST_TEST(asked("s3://bkt/p", {},
                   [] {
                     s3_settings s;
                     s.addressing = "sideways";
                     return s;
                   }())
                 .find("expected path, virtual or auto") == 0U);
}

BOOST_AUTO_TEST_CASE(what_a_profile_says) {
  aws_machine m{{{"AWS_CONFIG_FILE", "/c"}, {"AWS_PROFILE", "p"}},
                {{"/c",
                  "[profile p]\nregion = cn-north-1\nuse_dualstack_endpoint = true\n[profile q]\nservices = l\n"
                  "[services l]\ns3 =\n  endpoint_url = http://127.0.0.1:2\n"}}};
  BOOST_TEST(asked("s3://bkt/p", m) == "https://bkt.s3.dualstack.cn-north-1.amazonaws.com.cn/p/k cn-north-1 ?");
  m.variables["AWS_PROFILE"] = "q";
  BOOST_TEST(asked("s3://bkt/p", m) == "http://127.0.0.1:2/bkt/p/k us-east-1");
}

BOOST_AUTO_TEST_CASE(a_page_of_a_listing) {
  auto const page = parse_s3_page(
      "<?xml version='1.0'?><ListBucketResult xmlns='x'><IsTruncated>true</IsTruncated><EncodingType>url</EncodingType>"
      "<Contents><Key>m/a+b%2Bc%C3%BC</Key><Size>7</Size></Contents><Contents><Key>m/</Key><Size>0</Size></Contents>"
      "<NextContinuationToken>t+/=</NextContinuationToken></ListBucketResult>");
  BOOST_TEST_REQUIRE(page.has_value());
  BOOST_TEST(page->files.size() == 2U);
  BOOST_TEST(page->files[0].name == "m/a b+c\xc3\xbc");
  BOOST_TEST(page->files[0].size.count == 7U);
  BOOST_TEST(page->next == "t+/=");
  auto const plain =
      parse_s3_page("<ListBucketResult><Contents><Key>a+b%2B</Key><Size>1</Size></Contents></ListBucketResult>");
  BOOST_TEST(plain->files[0].name == "a+b%2B");
  BOOST_TEST(plain->next == "");
}

BOOST_AUTO_TEST_CASE(what_is_no_listing) {
  for (
      auto const* xml :
      {"", "<html/>", "<Error><Code>SlowDown</Code></Error>", "<!DOCTYPE a><ListBucketResult/>",
       "<ListBucketResult><Contents><Size>1</Size></Contents></ListBucketResult>",
       "<ListBucketResult><Contents><Key>a</Key><Size>-1</Size></Contents></ListBucketResult>",
       "<ListBucketResult><EncodingType>url</EncodingType><Contents><Key>%G</Key><Size>1</Size></Contents></ListBucketResult>",
       "<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>"}) {
    auto const page = parse_s3_page(xml);
    BOOST_TEST_REQUIRE(!page, xml);
    BOOST_TEST((page.error().kind() == error_kind::io));
  }
  BOOST_TEST(parse_s3_page("<Error><Code>SlowDown</Code></Error>").error().message().find("SlowDown") !=
             std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
