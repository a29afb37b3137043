#pragma once
#include <penstock/net/resolve.hpp>
#include <penstock/net/url.hpp>
#include <penstock/storage/azure_access.hpp>

PENSTOCK_BEGIN
namespace storage {
namespace azure_detail {
inline std::string without_question_mark(std::string_view sas) {
  while (!sas.empty() && (sas.front() == '?' || sas.front() == '&')) sas.remove_prefix(1);
  while (!sas.empty() && sas.back() == '&') sas.remove_suffix(1);
  return std::string(sas);
}

inline std::string without_final_slash(std::string_view url) {
  while (url.ends_with('/')) url.remove_suffix(1);
  return std::string(url);
}

inline bool says_yes(std::string_view value) noexcept {
  for (std::string_view yes : {"1", "true", "True", "TRUE", "yes", "on"})
    if (value == yes) return true;
  return false;
}

/// The account that an endpoint belongs to: the first label of one of Azure's hosts, else the last part of the path.
inline std::string account_of_endpoint(std::string const& endpoint) {
  auto const url = net::split_url(endpoint);
  if (!url) return {};
  if (auto account = account_of_host(url->host); !account.empty()) return account;
  auto const path = without_final_slash(url->path);
  return path.substr(path.rfind('/') + 1);
}

/// One source of settings, with its connection string taken apart.
struct azure_source {
  azure_settings const& said;
  azure_connection connection{};
  bool from_options;

  [[nodiscard]] std::string account() const { return connection.account.empty() ? said.account : connection.account; }
  /// A connection string is for one account.
  [[nodiscard]] bool connects(std::string const& account) const {
    return !said.connection_string.empty() && (connection.account.empty() || connection.account == account);
  }
  [[nodiscard]] std::string endpoint(std::string const& account) const {
    return without_final_slash(connects(account) && !connection.endpoint.empty() ? connection.endpoint : said.endpoint);
  }
  [[nodiscard]] std::string name(char const* option, char const* variable) const {
    return from_options ? std::string("option ") + option : std::string(variable);
  }
};

/// Takes the first credential that is there, and remembers what was not.
class azure_chain {
 public:
  azure_chain(azure_access& access, azure_location const& where) : access_(access), where_(where) {}

  void use(net::azure_proof proof, std::string const& value, std::string const& source) {
    if (access_.signer || broken_) return;
    if (value.empty()) {
      if (!source.starts_with("option ")) tried_ += ", " + source;
      return;
    }
    if (proof != net::azure_proof::shared_key) return accept(proof, net::secret(value), source);
    auto key = net::base64_decode(value);
    if (!key)
      broken_ = std::make_unique<error>(error_kind::access, "expected base64 in the account key of " + source +
                                                                ", found other text; copy the key again");
    else accept(proof, *std::move(key), source);
  }
  void skip(std::string const& source, std::string const& why) { tried_ += ", " + source + " (" + why + ")"; }
  void ask_anonymously(bool said, std::string const& source) {
    if (said) return use(net::azure_proof::anonymous, "-", source);
    use(net::azure_proof::anonymous, "", source);
  }
  result<void> end() {
    if (broken_) return std::move(*broken_);
    if (access_.signer) return {};
    return error{error_kind::access,
                 "expected credentials for account " + access_.account + ", container " + where_.container +
                     ", found none; tried: " + tried_ +
                     "; set one of them (AZURE_STORAGE_ANON=true asks a public container without credentials)"};
  }

 private:
  void accept(net::azure_proof proof, net::secret value, std::string const& source) {
    access_.signer = std::make_shared<net::azure_authorizer>(proof, access_.account, std::move(value), source);
  }
  azure_access& access_;
  azure_location const& where_;
  std::string tried_ = "options";
  std::unique_ptr<error> broken_;
};

/// What may be sent to the endpoint: a signature shows nothing of the key, a SAS or a token is the credential itself.
struct azure_trust {
  bool signatures, secrets;
};

inline void offer(azure_chain& chain, azure_source const& s, azure_access const& access, azure_trust trust) {
  using net::azure_proof;
  auto const* const strange = "not for this host: set AZURE_STORAGE_ENDPOINT to it if it is yours";
  auto const connection = s.name("connection_string", "AZURE_STORAGE_CONNECTION_STRING");
  if (!s.said.connection_string.empty() && !s.connects(access.account))
    chain.skip(connection, "for account " + s.connection.account);
  else if (!s.said.connection_string.empty() && s.connection.key.empty() && s.connection.sas.empty())
    chain.skip(connection, "holds no key and no SAS");
  else if (!s.said.connection_string.empty() && !(s.connection.key.empty() ? trust.secrets : trust.signatures))
    chain.skip(connection, strange);
  else if (!s.connection.key.empty()) chain.use(azure_proof::shared_key, s.connection.key, connection);
  else chain.use(azure_proof::sas, s.connection.sas, connection);
  auto const key = s.name("key", "AZURE_STORAGE_ACCOUNT_KEY");
  if (!s.said.key.empty() && !trust.signatures) chain.skip(key, strange);
  else chain.use(azure_proof::shared_key, s.said.key, key);
  auto const sas = s.name("sas", "AZURE_STORAGE_SAS_TOKEN"), token = s.name("token", "AZURE_STORAGE_TOKEN");
  if (!s.said.sas.empty() && !trust.secrets) chain.skip(sas, strange);
  else chain.use(azure_proof::sas, without_question_mark(s.said.sas), sas);
  if (!s.said.token.empty() && (!trust.secrets || !access.endpoint.starts_with("https://")))
    chain.skip(token, "sent over https to configured hosts only");
  else chain.use(azure_proof::bearer, s.said.token, token);
  chain.ask_anonymously(s.said.anonymous, s.name("anonymous", "AZURE_STORAGE_ANON"));
}

inline result<void> read_connection(azure_source& s) {
  if (s.said.connection_string.empty()) return {};
  auto parsed = parse_connection_string(s.said.connection_string);
  if (!parsed) return std::move(parsed).error();
  s.connection = *std::move(parsed);
  return {};
}
}  // namespace azure_detail

PENSTOCK_INLINE azure_settings azure_environment(std::function<char const*(char const*)> const& get) {
  auto const first = [&](std::initializer_list<char const*> names) {
    for (char const* name : names)
      if (char const* value = get(name); value && *value) return std::string(value);
    return std::string();
  };
  azure_settings s;
  s.connection_string = first({"AZURE_STORAGE_CONNECTION_STRING"});
  s.account = first({"AZURE_STORAGE_ACCOUNT_NAME"});
  s.key = first({"AZURE_STORAGE_ACCOUNT_KEY", "AZURE_STORAGE_ACCESS_KEY", "AZURE_STORAGE_KEY"});
  s.sas = first({"AZURE_STORAGE_SAS_TOKEN"});
  s.token = first({"AZURE_STORAGE_TOKEN"});
  s.endpoint = first({"AZURE_STORAGE_ENDPOINT"});
  s.anonymous = azure_detail::says_yes(first({"AZURE_STORAGE_ANON"}));
  return s;
}

PENSTOCK_INLINE result<azure_connection> parse_connection_string(std::string_view text) {
  azure_connection c;
  std::string protocol = "https", suffix = "core.windows.net", proxy = "http://127.0.0.1:10000";
  bool development = false;
  while (!text.empty()) {
    auto const part = text.substr(0, text.find(';'));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    if (part.empty()) continue;
    auto const equals = part.find('=');
    if (equals == part.npos)
      return error{error_kind::access,
                   "expected Name=Value parts divided by ; in the connection string, found a part without =; copy it "
                   "again from the portal"};
    auto const name = part.substr(0, equals);
    auto value = std::string(part.substr(equals + 1));
    if (name == "AccountName") c.account = std::move(value);
    if (name == "AccountKey") c.key = std::move(value);
    if (name == "SharedAccessSignature") c.sas = azure_detail::without_question_mark(value);
    if (name == "BlobEndpoint") c.endpoint = azure_detail::without_final_slash(value);
    if (name == "EndpointSuffix") suffix = std::move(value);
    if (name == "DefaultEndpointsProtocol") protocol = std::move(value);
    if (name == "UseDevelopmentStorage") development = azure_detail::says_yes(value);
    if (name == "DevelopmentStorageProxyUri") proxy = azure_detail::without_final_slash(value);
  }
  if (protocol != "http" && protocol != "https")
    return error{error_kind::access,
                 "expected http or https as DefaultEndpointsProtocol of the connection string, found another"};
  if (development) {
    // The emulator's account is public: every Azurite and every SDK knows it.
    c.account = "devstoreaccount1";
    c.key = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";
    if (c.endpoint.empty()) c.endpoint = proxy + "/" + c.account;
  }
  if (c.endpoint.empty() && !c.account.empty()) c.endpoint = protocol + "://" + c.account + ".blob." + suffix;
  if (c.account.empty() && !c.endpoint.empty()) c.account = azure_detail::account_of_endpoint(c.endpoint);
  return c;
}

PENSTOCK_INLINE result<azure_access> resolve_azure(azure_location const& where, azure_settings const& options,
                                                   azure_settings const& environment) {
  azure_detail::azure_source sources[] = {{options, {}, true}, {environment, {}, false}};
  for (auto& s : sources)
    if (auto read = azure_detail::read_connection(s); !read) return std::move(read).error();

  azure_access a;
  a.account = where.account;
  for (auto const& s : sources)
    if (a.account.empty()) a.account = s.account();
  for (auto const& s : sources)
    if (a.account.empty() && !s.said.endpoint.empty()) a.account = azure_detail::account_of_endpoint(s.said.endpoint);
  if (a.account.empty())
    return error{error_kind::access,
                 "expected a storage account, found none in the URI, the options or the environment; set "
                 "AZURE_STORAGE_ACCOUNT_NAME or use az://container@account.blob.core.windows.net/path"};

  std::string configured;
  for (auto const& s : sources)
    if (configured.empty()) configured = s.endpoint(a.account);
  bool const own = where.endpoint.empty() || sources[0].account() == a.account || sources[1].account() == a.account ||
                   azure_detail::account_of_endpoint(configured) == a.account;
  if (where.exact || configured.empty() || !own) a.endpoint = where.endpoint;
  else a.endpoint = configured;
  if (a.endpoint.empty()) {
    if (!is_azure_account(a.account))
      return error{error_kind::access,
                   "expected 3 to 24 lower-case letters and digits as the storage account, found another name; correct "
                   "AZURE_STORAGE_ACCOUNT_NAME or set AZURE_STORAGE_ENDPOINT"};
    a.endpoint = "https://" + a.account + ".blob.core.windows.net";
  }
  auto const url = net::split_url(a.endpoint);
  if (!url) return url.error();
  if (!url->query.empty())
    return error{error_kind::usage, "expected an endpoint without a query, found one; give a SAS by its own setting"};

  // What the environment holds must not leave for a host that only a URI names.
  bool const known = a.endpoint == configured || net::is_loopback(url->host);
  bool const service = account_of_host(url->host) == a.account;
  azure_detail::azure_trust const trust{
      known || service, known || (service && (environment.account.empty() || environment.account == a.account))};
  azure_detail::azure_chain chain(a, where);
  azure_detail::offer(chain, sources[0], a, {true, true});
  chain.use(net::azure_proof::sas, where.sas, "a SAS in the URI");
  azure_detail::offer(chain, sources[1], a, trust);
  if (auto done = chain.end(); !done) return std::move(done).error();
  return a;
}
}  // namespace storage
PENSTOCK_END
