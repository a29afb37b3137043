#pragma once
#include <cstring>
#include <pugixml.hpp>
#include <random>
#include <set>
#include <span>

#include <penstock/format/detail/json_tree.hpp>
#include <penstock/net/aws_credentials.hpp>
#include <penstock/net/detail/run_process.ipp>
#include <penstock/net/fetch.hpp>
#include <penstock/net/plain_xml.ipp>
#include <penstock/net/resolve.hpp>
#include <penstock/net/text.hpp>
#include <penstock/net/url.hpp>

PENSTOCK_BEGIN
namespace net {
namespace detail {
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
  auto const tree = penstock::detail::json_tree::parse(std::as_bytes(std::span(json)), source, kibibytes(64));
  if (!tree) return no_access(source + ": expected keys as JSON, found something else; check what answers there");
  auto const text = [&](char const* key) {
    auto const n = tree->find(key);
    return n && tree->kind(*n) == penstock::detail::json_kind::text ? tree->text(*n) : std::string_view();
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

/// Finds the source of keys, once, by the rules of the AWS tools.
class aws_chain {
 public:
  aws_chain(aws_identity const& said, surroundings const& machine, std::string const& region, http_options const& http)
      : said_(said), machine_(machine), region_(region), http_(http) {}

  result<std::shared_ptr<aws_credentials>> find() {
    using found = std::shared_ptr<aws_credentials>;
    if (said_.keys) return std::make_shared<aws_credentials>(said_.keys);
    if (said_.anonymous) return found();
    auto read = aws_profiles::read(machine_);
    if (!read) return std::move(read).error();
    profiles_ = *std::move(read);
    auto chosen = choose();
    if (!chosen) return std::move(chosen).error();
    if (fixed_) return std::make_shared<aws_credentials>(*(*chosen)());
    return std::make_shared<aws_credentials>(*std::move(chosen));
  }

 private:
  using section = aws_profiles::section;

  static std::string value(section const& s, char const* key) {
    auto const it = s.find(key);
    return it == s.end() ? std::string() : it->second;
  }
  static bool has_keys(section const& s) { return !value(s, "aws_access_key_id").empty(); }

  /// A pair, or an error that says which half is missing.
  static result<ask_for_keys> pair(std::string id, std::string const& key, std::string const& token,
                                   std::string const& source) {
    if (id.empty() || key.empty())
      return no_access("expected an access key and its secret key from " + source +
                       ", found one without the other; give both");
    return always({std::move(id), secret(key), secret(token), std::nullopt, source});
  }

  result<ask_for_keys> choose() {
    if (!said_.access_key.empty() || !said_.secret_key.empty()) {
      fixed_ = true;
      return pair(said_.access_key, said_.secret_key, said_.session_token, "options");
    }
    auto const id = machine_.first({"AWS_ACCESS_KEY_ID"}), key = machine_.first({"AWS_SECRET_ACCESS_KEY"});
    if (said_.profile.empty() && (!id.empty() || !key.empty())) return from_environment();
    auto const name = said_.profile.empty() ? aws_profile_name(machine_) : said_.profile;
    auto const* const p = profiles_.find(name);
    if (!p && (!said_.profile.empty() || name != "default"))
      return no_access("expected the profile " + name + " in " + profiles_.files() +
                       ", found none; correct AWS_PROFILE or the file");
    section const empty, &s = p ? *p : empty;
    if (!value(s, "role_arn").empty() && value(s, "web_identity_token_file").empty()) return role_of(name);
    if (auto web = web_identity(s); !web || *web) return web;
    if (p)
      if (auto own = keys_of(name, s); !own || *own) return own;
    if (!machine_.first({"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI"}).empty())
      return container();
    return metadata();
  }

  result<ask_for_keys> from_environment() {
    auto const ask = [m = machine_]() -> result<aws_keys> {
      auto keys = pair(m.first({"AWS_ACCESS_KEY_ID"}), m.first({"AWS_SECRET_ACCESS_KEY"}),
                       m.first({"AWS_SESSION_TOKEN", "AWS_SECURITY_TOKEN"}), "AWS_ACCESS_KEY_ID");
      if (!keys) return std::move(keys).error();
      auto k = (*keys)();
      k->expiry = parse_timestamp(m.first({"AWS_CREDENTIAL_EXPIRATION"}));
      return k;
    };
    auto first = ask();
    if (!first) return std::move(first).error();
    fixed_ = !first->expiry;
    return ask_for_keys(ask);
  }

  [[nodiscard]] token_service service(std::string const& region) const {
    auto const where = region.empty() ? (region_.empty() || region_ == "auto" ? "us-east-1" : region_) : region;
    auto url = machine_.says_yes("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS")
                   ? std::string()
                   : machine_.first({"AWS_ENDPOINT_URL_STS", "AWS_ENDPOINT_URL"});
    if (url.empty()) url = "https://sts." + where + ".amazonaws.com" + (where.starts_with("cn-") ? ".cn" : "");
    while (url.ends_with('/')) url.pop_back();
    return {url + "/", where, http_};
  }

  /// The role of a profile, asked for with the keys of its source.
  result<ask_for_keys> role_of(std::string const& name) {
    auto const& s = *profiles_.find(name);
    auto const in = "the profile " + name;
    if (!visited_.insert(name).second)
      return no_access("expected source profiles that end at keys, found a circle at " + in +
                       "; correct source_profile");
    if (!value(s, "mfa_serial").empty())
      return no_access(in +
                       " wants a code of an MFA device, which cannot be asked for here; get keys of a session with the "
                       "AWS tools and give those");
    auto const from = value(s, "source_profile"), origin = value(s, "credential_source");
    if (from.empty() == origin.empty())
      return no_access("expected source_profile or credential_source beside role_arn in " + in + ", found " +
                       (from.empty() ? "neither" : "both") + "; correct the file");
    auto source = origin.empty() ? source_profile(from, name) : credential_source(origin, in);
    if (!source) return source;
    std::vector<std::pair<char const*, std::string>> fields{{"RoleArn", value(s, "role_arn")}};
    auto session = value(s, "role_session_name");
    fields.emplace_back("RoleSessionName", session.empty() ? "penstock" : std::move(session));
    if (auto id = value(s, "external_id"); !id.empty()) fields.emplace_back("ExternalId", std::move(id));
    if (auto n = value(s, "duration_seconds"); !n.empty()) fields.emplace_back("DurationSeconds", std::move(n));
    fixed_ = false;
    return ask_for_keys([source = *std::move(source), fields, at = service(value(s, "region")),
                         what = "the role of " + in]() -> result<aws_keys> {
      auto const keys = source();
      if (!keys) return keys.error();
      return at.ask("AssumeRole", fields, &*keys, what);
    });
  }

  result<ask_for_keys> source_profile(std::string const& name, std::string const& asked_by) {
    auto const* const s = profiles_.find(name);
    if (!s)
      return no_access("expected the profile " + name + ", the source of " + asked_by + ", in " + profiles_.files() +
                       ", found none; correct the file");
    bool const itself = name == asked_by;
    if (!value(*s, "role_arn").empty() && !itself && value(*s, "web_identity_token_file").empty()) return role_of(name);
    if (!itself)
      if (auto web = web_identity_of(*s); !web || *web) return web;
    auto own = keys_of(name, *s);
    if (own && !*own)
      return no_access("expected keys in the profile " + name + ", found none; give it keys or another source");
    return own;
  }

  result<ask_for_keys> credential_source(std::string const& origin, std::string const& in) {
    if (origin == "Environment") return from_environment();
    if (origin == "Ec2InstanceMetadata") return metadata();
    if (origin == "EcsContainer") return container();
    return no_access("expected Environment, Ec2InstanceMetadata or EcsContainer as credential_source of " + in +
                     ", found another; correct the file");
  }

  /// Of the environment, each value falling back to the profile's. An empty function: there is none.
  result<ask_for_keys> web_identity(section const& s) {
    auto merged = s;
    for (auto const& [variable, key] :
         {std::pair("AWS_WEB_IDENTITY_TOKEN_FILE", "web_identity_token_file"), std::pair("AWS_ROLE_ARN", "role_arn"),
          std::pair("AWS_ROLE_SESSION_NAME", "role_session_name")})
      if (auto v = machine_.first({variable}); !v.empty()) merged[key] = std::move(v);
    return web_identity_of(merged);
  }
  result<ask_for_keys> web_identity_of(section const& s) {
    auto const file = value(s, "web_identity_token_file"), role = value(s, "role_arn");
    if (file.empty()) return ask_for_keys();
    if (role.empty())
      return no_access("expected AWS_ROLE_ARN or role_arn beside the file of a web identity, found none; set it");
    fixed_ = false;
    auto session = value(s, "role_session_name");
    return ask_for_keys([m = machine_, file, role, session = session.empty() ? "penstock" : session,
                         at = service(value(s, "region"))]() -> result<aws_keys> {
      auto const token = m.file(file);
      if (!token)
        return no_access("expected the token of a web identity in " + file +
                         ", found no file that can be read; check AWS_WEB_IDENTITY_TOKEN_FILE");
      return at.ask(
          "AssumeRoleWithWebIdentity",
          {{"RoleArn", role}, {"RoleSessionName", session}, {"WebIdentityToken", std::string(trimmed(*token))}},
          nullptr, "the web identity's role");
    });
  }

  /// What a profile holds itself. An empty function: nothing.
  result<ask_for_keys> keys_of(std::string const& name, section const& s) {
    auto const in = "the profile " + name;
    auto const mine = [&] {
      fixed_ = true;
      return pair(value(s, "aws_access_key_id"), value(s, "aws_secret_access_key"), value(s, "aws_session_token"), in);
    };
    if (!value(s, "sso_session").empty() || !value(s, "sso_start_url").empty())
      return no_access(in +
                       " signs in with SSO, which is not supported; give keys by `aws configure export-credentials`");
    if (has_keys(s) && profiles_.in_credentials_file(name, "aws_access_key_id")) return mine();
    if (!value(s, "login_session").empty())
      return no_access(
          in + " signs in with `aws login`, which is not supported; give keys by `aws configure export-credentials`");
    if (auto const command = value(s, "credential_process"); !command.empty()) return process(command, in);
    if (has_keys(s)) return mine();
    return ask_for_keys();
  }

  result<ask_for_keys> process(std::string const& command, std::string const& in) {
    if (!said_.allow_process)
      return no_access(
          in +
          " names a credential_process, which this program does not start; allow it (allow_process), or give keys");
    auto words = words_of(command);
    if (!words)
      return no_access("expected a command as credential_process of " + in +
                       ", found an open quote or nothing; correct the file");
    fixed_ = false;
    return ask_for_keys([words = *std::move(words), source = "the credential_process of " + in]() -> result<aws_keys> {
      auto const text = run_process(words);
      if (!text) return no_access(text.error().message());
      return keys_of_json(*text, "SessionToken", source);
    });
  }

  result<ask_for_keys> container() {
    fixed_ = false;
    return ask_for_keys([m = machine_, http = http_] { return ask_container(m, http); });
  }
  result<ask_for_keys> metadata() {
    std::string const tried =
        "expected AWS credentials, found none; tried: options, AWS_ACCESS_KEY_ID, AWS_WEB_IDENTITY_TOKEN_FILE, " +
        profiles_.files() + ", AWS_CONTAINER_CREDENTIALS_RELATIVE_URI, instance metadata";
    std::string const advice =
        "; set one of them, or ask a public bucket without credentials (AWS_NO_SIGN_REQUEST=true)";
    if (machine_.says_yes("AWS_EC2_METADATA_DISABLED")) return no_access(tried + " (switched off)" + advice);
    fixed_ = false;
    return ask_for_keys([m = machine_, http = http_, tried, advice]() -> result<aws_keys> {
      auto keys = ask_instance_metadata(m, http);
      if (!keys) return no_access(tried + " (" + keys.error().message() + ")" + advice);
      return keys;
    });
  }

  aws_identity const& said_;
  surroundings machine_;
  std::string region_;
  http_options http_;
  aws_profiles profiles_;
  std::set<std::string> visited_;
  bool fixed_ = false;  ///< what was chosen never changes
};
}  // namespace detail

PENSTOCK_INLINE aws_credentials::aws_credentials(aws_keys keys)
    : present_{std::make_shared<aws_keys const>(std::move(keys)), 1} {}
PENSTOCK_INLINE aws_credentials::aws_credentials(std::function<result<aws_keys>()> ask) : ask_(std::move(ask)) {}

PENSTOCK_INLINE result<void> aws_credentials::ask_now(clock::time_point now) {
  auto keys = ask_();
  if (!keys) return std::move(keys).error();
  if (keys->expiry && *keys->expiry <= now)
    return detail::no_access("expected keys that are valid, found some from " + keys->source +
                             " that had expired already; check this machine's clock and where they are from");
  auto fresh = std::make_shared<aws_keys const>(*std::move(keys));
  std::scoped_lock const hold(present_guard_);
  present_ = {std::move(fresh), present_.number + 1};
  return {};
}

PENSTOCK_INLINE result<aws_credentials::numbered> aws_credentials::get(clock::time_point now) {
  auto const present = [&] {
    std::scoped_lock const hold(present_guard_);
    return present_;
  };
  auto const left = [&](numbered const& n) {
    return !n.keys ? clock::duration::zero() : n.keys->expiry ? *n.keys->expiry - now : clock::duration::max();
  };
  auto have = present();
  if (!ask_ || left(have) > std::chrono::minutes(15)) return have;
  bool const must = left(have) <= std::chrono::minutes(5);
  std::unique_lock hold(asking_, std::defer_lock);
  if (must) hold.lock();
  else if (!hold.try_lock()) return have;
  have = present();  // somebody may have asked meanwhile
  if (left(have) > std::chrono::minutes(must ? 5 : 15)) return have;
  bool const valid = left(have) > clock::duration::zero();
  if (valid && now < not_before_) return have;
  auto const asked = ask_now(now);
  if (asked) return present();
  if (!valid) return asked.error();
  not_before_ = now + std::chrono::seconds(10);
  return have;
}

PENSTOCK_INLINE bool aws_credentials::renew(u64 number) {
  if (!ask_) return false;
  std::scoped_lock const hold(asking_);
  {
    std::scoped_lock const look(present_guard_);
    if (present_.number != number) return true;
  }
  return ask_now(clock::now()).has_value();
}

PENSTOCK_INLINE std::string aws_credentials::source() const {
  std::scoped_lock const hold(present_guard_);
  return present_.keys ? present_.keys->source : std::string("no credentials yet");
}

PENSTOCK_INLINE result<std::shared_ptr<aws_credentials>> find_aws_credentials(aws_identity const& said,
                                                                              surroundings const& machine,
                                                                              std::string const& region,
                                                                              http_options const& http) {
  return detail::aws_chain(said, machine, region, http).find();
}
}  // namespace net
PENSTOCK_END
