#pragma once
#include <set>

#include <penstock/net/aws_credentials.hpp>
#include <penstock/net/detail/aws_sources.ipp>
#include <penstock/net/detail/run_process.ipp>

PENSTOCK_BEGIN
namespace net {
namespace detail {
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
