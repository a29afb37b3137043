#include <penstock/net/aws_credentials.hpp>

#include "aws_machine.hpp"

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <thread>

using namespace penstock;
using namespace penstock::net;
using namespace std::chrono_literals;

namespace {
/// What services of the network are asked of are at a port of this machine where nobody listens.
http_options hasty() {
  http_options o;
  o.retry.attempts = 1;
  o.connect = o.first_byte = 200ms;
  return o;
}
result<std::shared_ptr<aws_credentials>> find(aws_machine const& m, aws_identity const& said = {}) {
  return find_aws_credentials(said, m.surroundings(), "eu-west-1", hasty());
}
aws_keys keys(std::string id, std::optional<std::chrono::system_clock::time_point> expiry = {}) {
  return {std::move(id), secret("s"), {}, expiry, "test"};
}
std::string id_of(result<std::shared_ptr<aws_credentials>> const& c) {
  auto const got = c.value()->get();
  return got ? got->keys->access_key : got.error().message();
}
aws_machine with_files(std::string config, std::string credentials = {}) {
  return {{{"AWS_CONFIG_FILE", "/c"}, {"AWS_SHARED_CREDENTIALS_FILE", "/k"}, {"AWS_EC2_METADATA_DISABLED", "true"}},
          {{"/c", std::move(config)}, {"/k", std::move(credentials)}}};
}
std::string refused(result<std::shared_ptr<aws_credentials>> const& c) {
  BOOST_TEST_REQUIRE(!c);
  BOOST_TEST((c.error().kind() == error_kind::access));
  return c.error().message();
}
bool has(std::string const& text, std::string_view part) { return text.find(part) != text.npos; }
}  // namespace

BOOST_AUTO_TEST_SUITE(net_aws_credentials)

BOOST_AUTO_TEST_CASE(what_was_said_goes_before_all) {
  auto m = with_files("", "[default]\naws_access_key_id = FILE\naws_secret_access_key = s\n");
  m.variables["AWS_ACCESS_KEY_ID"] = "ENV", m.variables["AWS_SECRET_ACCESS_KEY"] = "s";
  m.variables["AWS_SESSION_TOKEN"] = "t";
  aws_identity said;
  BOOST_TEST(id_of(find(m, said)) == "ENV");
  BOOST_TEST(find(m, said).value()->get().value().keys->token.reveal() == "t");
  said.profile = "default";
  BOOST_TEST(id_of(find(m, said)) == "FILE");
  said.access_key = "SAID", said.secret_key = "s";
  BOOST_TEST(id_of(find(m, said)) == "SAID");
  said.anonymous = true;
  BOOST_TEST(!find(m, said).value());
  said.keys = [] { return result<aws_keys>(keys("CALLBACK")); };
  BOOST_TEST(id_of(find(m, said)) == "CALLBACK");
}

BOOST_AUTO_TEST_CASE(half_a_pair_is_an_error_and_no_reason_to_look_further) {
  auto m = with_files("", "[default]\naws_access_key_id = FILE\naws_secret_access_key = s\n");
  m.variables["AWS_ACCESS_KEY_ID"] = "ENV";
  BOOST_TEST(has(refused(find(m)), "AWS_ACCESS_KEY_ID, found one without the other"));
  aws_identity said;
  said.secret_key = "s";
  BOOST_TEST(has(refused(find(m, said)), "from options, found one without the other"));
  BOOST_TEST(has(refused(find(with_files("[default]\naws_access_key_id = X\n"))), "the profile default, found one"));
}

BOOST_AUTO_TEST_CASE(profiles) {
  auto m = with_files(
      "[default]\naws_access_key_id = D\naws_secret_access_key = s\n[profile p]\naws_access_key_id = P\n"
      "aws_secret_access_key = s\naws_session_token = t\n");
  BOOST_TEST(id_of(find(m)) == "D");
  m.variables["AWS_PROFILE"] = "p";
  BOOST_TEST(id_of(find(m)) == "P");
  m.variables["AWS_PROFILE"] = "q";
  BOOST_TEST(has(refused(find(m)), "expected the profile q in /c, /k, found none"));
}

BOOST_AUTO_TEST_CASE(nothing_is_found_without_a_word_of_what_was_tried) {
  auto const text = refused(find(with_files("")));
  for (auto const* part :
       {"AWS_ACCESS_KEY_ID", "AWS_WEB_IDENTITY_TOKEN_FILE", "/c, /k", "instance metadata", "AWS_NO_SIGN_REQUEST"})
    BOOST_TEST(has(text, part), text);
  auto m = with_files("");
  m.variables["AWS_EC2_METADATA_DISABLED"] = "false";
  m.variables["AWS_EC2_METADATA_SERVICE_ENDPOINT"] = "http://127.0.0.1:1";
  BOOST_TEST(has(id_of(find(m)), "instance metadata ("));
}

BOOST_AUTO_TEST_CASE(roles_that_cannot_be_had_are_refused_before_anything_is_asked) {
  BOOST_TEST(has(refused(find(with_files("[default]\nrole_arn = r\n"))), "found neither"));
  BOOST_TEST(
      has(refused(find(with_files("[default]\nrole_arn = r\nsource_profile = a\ncredential_source = Environment\n"))),
          "found both"));
  BOOST_TEST(has(refused(find(with_files("[default]\nrole_arn = r\nsource_profile = a\n"))), "expected the profile a"));
  BOOST_TEST(has(refused(find(with_files("[default]\nrole_arn = r\ncredential_source = Moon\n"))), "found another"));
  BOOST_TEST(has(refused(find(with_files("[default]\nrole_arn = r\nmfa_serial = m\nsource_profile = a\n"))), "MFA"));
  BOOST_TEST(has(refused(find(with_files("[default]\nrole_arn = r\nsource_profile = a\n[profile a]\nrole_arn = q\n"
                                         "source_profile = default\n"))),
                 "a circle at the profile default"));
  BOOST_TEST(has(refused(find(with_files("[default]\nrole_arn = r\nsource_profile = a\n[profile a]\nregion = x\n"))),
                 "expected keys in the profile a"));
  BOOST_TEST(has(refused(find(with_files("[default]\nsso_session = s\n"))), "SSO"));
  BOOST_TEST(has(refused(find(with_files("[default]\nlogin_session = s\n"))), "aws login"));
  BOOST_TEST(has(refused(find(with_files("[default]\nweb_identity_token_file = /t\n"))), "role_arn"));
}

BOOST_AUTO_TEST_CASE(a_program_is_started_only_where_that_was_allowed) {
  auto const line = std::string("[default]\ncredential_process = sh -c ");
  aws_identity said;
  BOOST_TEST(has(refused(find(with_files(line + "true\n"), said)), "allow_process"));
  said.allow_process = true;
  auto const json = R"(echo '{"Version":1,"AccessKeyId":"PRINTED","SecretAccessKey":"s","SessionToken":"t"}')";
  auto const m = with_files(line + "\"" + [&] {
    std::string text = json, out;
    for (char c : text) (out += c == '"' ? "\\" : "") += c;
    return out;
  }() + "\"\n");
  auto const found = find(m, said);
  BOOST_TEST(id_of(found) == "PRINTED");
  BOOST_TEST(found.value()->source() == "the credential_process of the profile default");
  BOOST_TEST(has(id_of(find(with_files(line + "'echo SECRETSECRET'\n"), said)), "expected keys as JSON"));
  BOOST_TEST(!has(id_of(find(with_files(line + "'echo SECRETSECRET'\n"), said)), "SECRETSECRET"));
  BOOST_TEST(has(id_of(find(with_files(line + "'exit 3'\n"), said)), "status 3"));
  BOOST_TEST(
      has(id_of(find(with_files("[default]\ncredential_process = /no/such/program\n"), said)), "/no/such/program"));
  BOOST_TEST(has(refused(find(with_files("[default]\ncredential_process = a 'b\n"), said)), "open quote"));
}

BOOST_AUTO_TEST_CASE(a_container_s_host_is_this_machine_or_its_agent) {
  auto m = with_files("");
  m.variables["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = "http://example.com/keys";
  BOOST_TEST(has(id_of(find(m)), "found http to another"));
  m.variables["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = "http://127.0.0.1:1/keys";
  m.variables["AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"] = "/none";
  BOOST_TEST(has(id_of(find(m)), "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"));
  m.files["/none"] = "token\r\nx: y";
  BOOST_TEST(has(id_of(find(m)), "control characters"));
}

BOOST_AUTO_TEST_CASE(keys_are_asked_for_again_before_they_expire) {
  auto const start = std::chrono::system_clock::now();
  int asked = 0;
  bool fails = false;
  aws_credentials c([&]() -> result<aws_keys> {
    ++asked;
    if (fails) return error{error_kind::access, "no more"};
    return keys("K" + std::to_string(asked), start + std::chrono::hours(asked));
  });
  auto const id = [&](std::chrono::system_clock::duration after) {
    auto const got = c.get(start + after);
    return got ? got->keys->access_key : got.error().message();
  };
  BOOST_TEST(id(0min) == "K1");
  BOOST_TEST(id(44min) == "K1");
  BOOST_TEST(asked == 1);
  BOOST_TEST(id(46min) == "K2");
  fails = true;
  BOOST_TEST(id(106min) == "K2");  // a failure is forgiven
  BOOST_TEST(id(106min + 5s) == "K2");
  BOOST_TEST(asked == 3);  // and not repeated at once
  BOOST_TEST(id(116min) == "K2");
  BOOST_TEST(asked == 4);
  BOOST_TEST(id(121min) == "no more");
  fails = false;
  BOOST_TEST(id(121min) == "K6");
}

BOOST_AUTO_TEST_CASE(many_threads_ask_once) {
  std::atomic<int> asked{0};
  aws_credentials c([&]() -> result<aws_keys> {
    ++asked;
    std::this_thread::sleep_for(5ms);
    return keys("K" + std::to_string(asked.load()), std::chrono::system_clock::now() + 1h);
  });
  auto const all = [&](auto&& what) {
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i) threads.emplace_back(what);
    for (auto& t : threads) t.join();
  };
  all([&] { static_cast<void>(c.get()); });
  BOOST_TEST(asked.load() == 1);
  auto const number = c.get().value().number;
  std::atomic<int> renewed{0};
  all([&] { renewed += c.renew(number); });
  BOOST_TEST(asked.load() == 2);
  BOOST_TEST(renewed.load() == 8);
  BOOST_TEST(!aws_credentials(keys("FIXED")).renew(1));
}

BOOST_AUTO_TEST_CASE(keys_that_had_expired_when_they_came_are_an_error) {
  aws_credentials c([] { return result<aws_keys>(keys("OLD", std::chrono::system_clock::now() - 1min)); });
  BOOST_TEST(has(c.get().error().message(), "expired already"));
}

BOOST_AUTO_TEST_SUITE_END()
