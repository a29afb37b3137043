#include "aws_machine.hpp"

#include <boost/test/unit_test.hpp>

using namespace penstock;
using namespace penstock::net;

BOOST_AUTO_TEST_SUITE(net_aws_profile)

BOOST_AUTO_TEST_CASE(both_files_are_merged_and_the_credentials_win) {
  aws_machine m{
      {{"HOME", "/home/u"}},
      {{"/home/u/.aws/config",
        "# a comment\n[default]\nregion = eu-west-1\n; another\n[profile big one]\nregion=us-east-2\r\n"
        "aws_access_key_id = FROM_CONFIG\ns3 =\n  addressing_style = path\n  max = 4\noutput = json\n"
        "[profile \"quoted\"]\nservices = local\n[services local]\ns3 =\n  endpoint_url = http://127.0.0.1:9000\n"},
       {"/home/u/.aws/credentials", "[big one]\nAWS_ACCESS_KEY_ID = FROM_KEYS\n"}}};
  auto const p = aws_profiles::read(m.surroundings()).value();
  BOOST_TEST(p.find("default")->at("region") == "eu-west-1");
  auto const& big = *p.find("big one");
  BOOST_TEST(big.at("region") == "us-east-2");
  BOOST_TEST(big.at("s3.addressing_style") == "path");
  BOOST_TEST(big.at("s3.max") == "4");
  BOOST_TEST(big.at("output") == "json");
  BOOST_TEST(big.at("aws_access_key_id") == "FROM_KEYS");
  BOOST_TEST(p.in_credentials_file("big one", "aws_access_key_id"));
  BOOST_TEST(!p.in_credentials_file("big one", "region"));
  BOOST_TEST(p.find("quoted")->at("services") == "local");
  BOOST_TEST(p.services("local")->at("s3.endpoint_url") == "http://127.0.0.1:9000");
  BOOST_TEST(!p.find("local"));
  BOOST_TEST(!p.services("quoted"));
}

BOOST_AUTO_TEST_CASE(variables_name_the_files_and_files_that_are_not_there_are_empty) {
  aws_machine m{{{"HOME", "/h"}, {"AWS_CONFIG_FILE", "~/c"}, {"AWS_SHARED_CREDENTIALS_FILE", "/k"}},
                {{"/h/c", "[default]\na = b = c\n"}}};
  auto const p = aws_profiles::read(m.surroundings()).value();
  BOOST_TEST(p.find("default")->at("a") == "b = c");
  BOOST_TEST(p.files() == "/h/c, /k");
  BOOST_TEST(!aws_profiles::read(surroundings::nothing()).value().find("default"));
}

BOOST_AUTO_TEST_CASE(a_wrong_line_is_named_and_not_shown) {
  for (auto const* text : {"[default]\nSECRETSECRET\n", "a = b\n[default]\n", "[default\n", "[d]\n= SECRET\n"}) {
    aws_machine m{{{"AWS_CONFIG_FILE", "/c"}}, {{"/c", text}}};
    auto const p = aws_profiles::read(m.surroundings());
    BOOST_TEST_REQUIRE(!p);
    BOOST_TEST((p.error().kind() == error_kind::access));
    BOOST_TEST(p.error().message().find("/c, line ") == 0U, p.error().message());
    BOOST_TEST(p.error().message().find("SECRET") == std::string::npos);
  }
}

BOOST_AUTO_TEST_CASE(the_name_of_the_profile) {
  BOOST_TEST(aws_profile_name(surroundings::nothing()) == "default");
  aws_machine m{{{"AWS_DEFAULT_PROFILE", "b"}}, {}};
  BOOST_TEST(aws_profile_name(m.surroundings()) == "b");
  m.variables["AWS_PROFILE"] = "a";
  BOOST_TEST(aws_profile_name(m.surroundings()) == "a");
}

BOOST_AUTO_TEST_SUITE_END()
