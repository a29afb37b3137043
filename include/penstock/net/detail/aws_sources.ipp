#pragma once
// Who gives AWS keys, and how each is asked. Included by .ipp files only.
#include <simdjson.h>

#include <memory>
#include <pugixml.hpp>
#include <random>

#include <penstock/net/aws_credentials.hpp>
#include <penstock/net/fetch.hpp>
#include <penstock/net/plain_xml.ipp>
#include <penstock/net/resolve.hpp>
#include <penstock/net/text.hpp>
#include <penstock/net/url.hpp>

PENSTOCK_BEGIN
namespace net::detail {
using ask_for_keys = std::function<result<aws_keys>()>;

inline error no_access(std::string text) { return {error_kind::access, std::move(text)}; }

inline aws_keys copy_of(aws_keys const& k) {
  return {k.access_key, secret(k.secret_key.reveal()), secret(k.token.reveal()), k.expiry, k.source};
}
inline ask_for_keys always(aws_keys keys) {
  return [kept = std::make_shared<aws_keys const>(std::move(keys))]() -> result<aws_keys> { return copy_of(*kept); };
}

/// Keys in JSON, as three kinds of sources write them; they differ in the name of the token.
inline result<aws_keys> keys_of_json(std::string const& json, char const* token, std::string const& source) {
  simdjson::dom::parser parser;
  simdjson::dom::object object;
  if (parser.parse(json).get(object))
    return no_access(source + ": expected keys as JSON, found something else; check what answers there");
  auto const text = [&](char const* key) {
    std::string_view value;
    return object[key].get(value) ? std::string_view() : value;
  };
  aws_keys k{std::string(text("AccessKeyId")), secret(text("SecretAccessKey")), secret(text(token)),
             parse_timestamp(text("Expiration")), source};
  if (k.access_key.empty() || k.secret_key.reveal().empty())
    return no_access(source + ": expected AccessKeyId and SecretAccessKey, found an answer without; check its role");
  return k;
}

/// Signs with keys that stay: requests to the token service.
class fixed_signer final : public authorizer {
 public:
  fixed_signer(aws_keys keys, aws_scope scope) : keys_(std::move(keys)), scope_(std::move(scope)) {}
  result<void> authorize(http_request& r) override {
    sign_aws(r, keys_, scope_, std::chrono::system_clock::now());
    return {};
  }
  [[nodiscard]] std::string explain() const override { return "signed with the keys from " + keys_.source; }

 private:
  aws_keys keys_;
  aws_scope scope_;
};

/// An exchange with the security token service: a form in, keys in XML out.
struct token_service {
  std::string url, region;
  http_options http;

  result<aws_keys> ask(std::string action, std::vector<std::pair<char const*, std::string>> const& fields,
                       aws_keys const* signer, std::string const& source) const {
    small_request r{"POST", url, source + " at " + url, nullptr, kibibytes(64)};
    r.body = "Action=" + action + "&Version=2011-06-15";
    for (auto const& [name, value] : fields) r.body += std::string("&") + name + "=" + percent_encode_value(value);
    if (signer) r.signer = std::make_shared<fixed_signer>(copy_of(*signer), aws_scope{region, "sts"});
    auto const answer = fetch(r, http);
    if (!answer) return answer.error();
    pugi::xml_document document;
    auto const* const problem = read_plain_xml(document, answer->body);
    auto const keys =
        problem ? pugi::xml_node()
                : document.child((action + "Response").c_str()).child((action + "Result").c_str()).child("Credentials");
    aws_keys k{keys.child_value("AccessKeyId"), secret(keys.child_value("SecretAccessKey")),
               secret(keys.child_value("SessionToken")), parse_timestamp(keys.child_value("Expiration")), source};
    if (k.access_key.empty() || k.secret_key.reveal().empty())
      return no_access(r.shown +
                       ": expected keys, found another document; check the endpoint of the token service "
                       "(AWS_ENDPOINT_URL_STS; AWS_ENDPOINT_URL counts for it too)");
    return k;
  }
};

/// Answers of the machine's own services come at once or not at all.
inline http_options hasty(http_options http, std::chrono::milliseconds most, u32 attempts) {
  http.connect = http.first_byte = http.stall = most;
  http.retry.attempts = attempts;
  http.retry.throttled_base = http.retry.base = std::chrono::milliseconds(500);
  http.retry.cap = std::chrono::milliseconds(1000);
  return http;
}

inline std::string const metadata_source = "instance metadata";

/// @source Amazon EC2 User Guide, "Use IMDSv2"
inline result<aws_keys> ask_instance_metadata(surroundings const& machine, http_options const& usual) {
  auto base = machine.first({"AWS_EC2_METADATA_SERVICE_ENDPOINT"});
  if (base.empty())
    base = lower(machine.first({"AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE"})) == "ipv6" ? "http://[fd00:ec2::254]"
                                                                                      : "http://169.254.169.254";
  while (base.ends_with('/')) base.pop_back();
  auto const number_of = [&](char const* name, u64 otherwise) {
    auto const n = number(machine.first({name}));
    return n && *n > 0 && *n < 1000 ? *n : otherwise;
  };
  auto const http = hasty(usual, std::chrono::seconds(number_of("AWS_METADATA_SERVICE_TIMEOUT", 1)),
                          static_cast<u32>(number_of("AWS_METADATA_SERVICE_NUM_ATTEMPTS", 1)));
  auto const request = [&](char const* method, std::string const& path) {
    small_request r{method, base + path, metadata_source, nullptr, kibibytes(64)};
    r.any_status = r.metadata = true;
    return r;
  };
  auto asked = request("PUT", "/latest/api/token");
  asked.headers = {{"x-aws-ec2-metadata-token-ttl-seconds", "21600"}};
  std::vector<header> proof;
  auto const token = fetch(asked, http);
  bool const v1 = !machine.says_yes("AWS_EC2_METADATA_V1_DISABLED");
  if (token && token->head.status() == 200) proof = {{"x-aws-ec2-metadata-token", token->body}};
  else if (!v1 || (token && token->head.status() == 400))
    return no_access(
        metadata_source +
        ": expected a token, found none; allow IMDSv2 for this instance, with a hop limit of 2 inside a container");
  else if (!token && token.error().where().http_status == 0 &&
           token.error().message().find("no connection") != std::string::npos)
    return token.error();
  auto const get = [&](std::string const& path) -> result<std::string> {
    auto r = request("GET", path);
    r.headers = proof;
    auto answer = fetch(r, http);
    if (!answer) return std::move(answer).error();
    if (answer->head.status() != 200)
      return no_access(metadata_source + ": expected a role of this instance, found status " +
                       std::to_string(answer->head.status()) + "; give the instance a role");
    return std::move(answer->body);
  };
  std::string const path = "/latest/meta-data/iam/security-credentials/";
  auto const role = get(path);
  if (!role) return role.error();
  auto const name = std::string(trimmed(std::string_view(*role).substr(0, role->find('\n'))));
  auto const json = get(path + percent_encode_value(name));
  if (!json) return json.error();
  auto keys = keys_of_json(*json, "Token", metadata_source);
  if (!keys) return keys;
  // The service keeps serving old keys when it cannot renew them, and stores take them for a while.
  auto const now = std::chrono::system_clock::now();
  if (keys->expiry && *keys->expiry < now + std::chrono::minutes(15))
    keys->expiry = now + std::chrono::minutes(17) + std::chrono::seconds(std::random_device{}() % 480);
  return keys;
}

/// @source Amazon ECS and EKS, the container credential provider
inline result<aws_keys> ask_container(surroundings const& machine, http_options const& usual) {
  auto const relative = machine.first({"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"});
  auto const url =
      relative.empty() ? machine.first({"AWS_CONTAINER_CREDENTIALS_FULL_URI"}) : "http://169.254.170.2" + relative;
  std::string const source = "container credentials";
  auto const parts = split_url(url);
  if (!parts)
    return no_access(source + ": expected a URL in AWS_CONTAINER_CREDENTIALS_FULL_URI, found none; correct it");
  bool const ours = is_loopback(parts->host) || parts->host == "169.254.170.2" || parts->host == "169.254.170.23" ||
                    parts->host == "fd00:ec2::23";
  if (parts->scheme != "https" && !ours)
    return no_access(source +
                     ": expected https, or a host of this machine or its agent, found http to another; correct "
                     "AWS_CONTAINER_CREDENTIALS_FULL_URI");
  small_request r{"GET", url, source, nullptr, kibibytes(64)};
  r.metadata = ours;
  r.headers = {{"Accept", "application/json"}};
  auto proof = machine.first({"AWS_CONTAINER_AUTHORIZATION_TOKEN"});
  if (auto const file = machine.first({"AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"}); !file.empty()) {
    auto const text = machine.file(file);
    if (!text)
      return no_access(
          source +
          ": expected the file of AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE, found none that can be read; check it");
    proof = trimmed(*text);
  }
  if (!proof.empty()) r.headers.push_back({"Authorization", proof});
  auto const answer = fetch(r, hasty(usual, std::chrono::seconds(2), 3));
  if (!answer) return answer.error();
  return keys_of_json(answer->body, "Token", source);
}
}  // namespace net::detail
PENSTOCK_END
