#pragma once
#include <penstock/format/index.hpp>
#include <penstock/net/aws_profile.hpp>
#include <penstock/net/fetch.hpp>
#include <penstock/net/http_failure.hpp>
#include <penstock/net/resolve.hpp>
#include <penstock/net/secret.hpp>
#include <penstock/net/text.hpp>
#include <penstock/net/url.hpp>
#include <penstock/storage/http.hpp>
#include <penstock/storage/http_objects.hpp>

PENSTOCK_BEGIN
namespace storage {
/// A root, and how to reach it.
struct http::place {
  std::string base;   ///< without query and final slash
  std::string query;  ///< with its `?`, or empty: it may be a credential
  std::string shown;
  std::string origin;
  std::shared_ptr<net::authorizer> signer;  ///< for this origin alone; may be null

  [[nodiscard]] std::string url(std::string const& name) const {
    return base + "/" + net::percent_encode(name) + query;
  }
};

/// What a server said of one object, after its redirects.
struct http::answer {
  net::small_request asked;
  net::response_head head;
};

namespace http_detail {
/// A header that proves who asks.
class header_authorizer final : public net::authorizer {
 public:
  header_authorizer(std::string scheme, net::secret value, std::string source)
      : scheme_(std::move(scheme)), source_(std::move(source)), value_(std::move(value)) {}
  result<void> authorize(net::http_request& r) override {
    r.headers.push_back({"Authorization", scheme_ + " " + std::string(value_.reveal())});
    return {};
  }
  [[nodiscard]] std::string explain() const override { return "with the credentials from " + source_; }

 private:
  std::string scheme_, source_;
  net::secret value_;
};

/// Names beside the weights that models have; what is not there is not missed.
inline constexpr std::string_view usual_names[] = {"config.json",
                                                   "generation_config.json",
                                                   "tokenizer.json",
                                                   "tokenizer_config.json",
                                                   "tokenizer.model",
                                                   "special_tokens_map.json",
                                                   "added_tokens.json",
                                                   "vocab.json",
                                                   "vocab.txt",
                                                   "merges.txt",
                                                   "tiktoken.model",
                                                   "chat_template.jinja",
                                                   "chat_template.json",
                                                   "preprocessor_config.json",
                                                   "video_preprocessor_config.json",
                                                   "processor_config.json",
                                                   "hf_quant_config.json",
                                                   "quantize_config.json",
                                                   "configuration.json"};
inline constexpr char const* index_name = "model.safetensors.index.json";
inline constexpr char const* single_name = "model.safetensors";

inline std::string origin_of(std::string const& url) {
  auto const parts = net::split_url(url);
  return parts ? parts->origin() : std::string();
}

/// Where a redirect leads. @returns empty where it is not to be followed
inline std::string target_of(std::string const& from, std::string_view location) {
  auto const at = net::split_url(from);
  if (!at || location.empty() || net::has_control_character(location)) return {};
  std::string to(location);
  if (to.starts_with("//")) to = at->scheme + ":" + to;
  else if (to.starts_with('/')) to = at->origin() + to;
  else if (to.find("://") == to.npos) to = at->origin() + at->path.substr(0, at->path.rfind('/') + 1) + to;
  auto const parts = net::split_url(to);
  if (!parts || (at->scheme == "https" && parts->scheme != "https")) return {};
  if (net::is_loopback(parts->host) && !net::is_loopback(at->host)) return {};
  return to;
}

/// The size of an object, from an answer to a request for its first byte. @returns nothing where it is not told
inline std::optional<bytes> size_told(net::response_head const& head) {
  if (head.status() == 200) return head.content_length();
  if (auto const value = head.get("content-range"))
    if (auto const range = net::parse_content_range(*value)) return range->total;
  return std::nullopt;
}

inline bool is_redirect(int status) noexcept {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}
}  // namespace http_detail

PENSTOCK_INLINE http::http(web_options o) : options_(std::move(o)) {
  if (!options_.environment) return;
  auto const machine = net::surroundings::of_this_process();
  auto& a = options_.account;
  if (!a.token.empty() || !a.user.empty()) return;
  a.token = machine.first({"PENSTOCK_HTTP_TOKEN"});
  a.user = machine.first({"PENSTOCK_HTTP_USER"});
  a.password = machine.first({"PENSTOCK_HTTP_PASSWORD"});
  if (a.origin.empty()) a.origin = machine.first({"PENSTOCK_HTTP_ORIGIN"});
}

PENSTOCK_INLINE result<http::place> http::find(uri const& root) const {
  auto const url = net::split_url(root.text());
  if (!url) return url.error();
  place p;
  p.origin = url->origin();
  p.base = p.origin + url->path;
  while (p.base.ends_with('/')) p.base.pop_back();
  if (!url->query.empty()) p.query = "?" + url->query;
  p.shown = root.shown();
  while (p.shown.ends_with('/') && !p.shown.ends_with("://")) p.shown.pop_back();
  auto const& a = options_.account;
  if (a.token.empty() && a.user.empty()) return p;
  bool const ours = a.origin.empty() ? net::is_loopback(url->host) : http_detail::origin_of(a.origin) == p.origin;
  if (!ours) return p;
  if (url->scheme != "https" && !net::is_loopback(url->host))
    return error{error_kind::access, p.shown +
                                         ": expected https for credentials (PENSTOCK_HTTP_TOKEN, "
                                         "PENSTOCK_HTTP_USER), found http; use an https server, or unset them"};
  if (!a.token.empty())
    p.signer = std::make_shared<http_detail::header_authorizer>("Bearer", net::secret(a.token), "PENSTOCK_HTTP_TOKEN");
  else
    p.signer = std::make_shared<http_detail::header_authorizer>(
        "Basic", net::secret(net::base64_encode(a.user + ":" + a.password)), "PENSTOCK_HTTP_USER");
  return p;
}

PENSTOCK_INLINE std::vector<result<http::answer>> http::ask(place const& where, std::span<std::string const> names,
                                                            std::stop_token const& stop) {
  std::vector<result<answer>> answers;
  std::vector<std::size_t> open;
  for (auto const& name : names) {
    net::small_request r{"GET", where.url(name), where.shown + "/" + name, where.signer, bytes{0}};
    r.headers = {{"Range", "bytes=0-0"}, {"Accept-Encoding", "identity"}};
    r.head_alone = r.any_status = true;
    open.push_back(answers.size());
    answers.push_back(answer{std::move(r), {}});
  }
  for (int hop = 0; hop <= 5 && !open.empty(); ++hop) {
    std::vector<net::small_request> requests;
    for (auto const i : open) requests.push_back(answers[i]->asked);
    auto told = net::fetch(requests, options_.http, 16, stop);
    std::vector<std::size_t> next;
    for (std::size_t k = 0; k < open.size(); ++k) {
      auto& a = answers[open[k]];
      if (!told[k]) {
        a = std::move(told[k]).error();
        continue;
      }
      a->head = std::move(told[k]->head);
      if (!http_detail::is_redirect(a->head.status())) continue;
      auto to = http_detail::target_of(a->asked.url, a->head.get("location").value_or(""));
      if (to.empty() || hop == 5) {
        a = about(
            where.shown, error_kind::io,
            std::string("expected ") +
                (hop == 5
                     ? "at most 5 redirects, found more"
                     : "a redirect that may be followed, found one to nowhere, from https to http, or to this machine") +
                "; give the address it should lead to");
        continue;
      }
      a->asked.signer = http_detail::origin_of(to) == where.origin ? where.signer : nullptr;
      a->asked.url = std::move(to);
      next.push_back(open[k]);
    }
    open = std::move(next);
  }
  return answers;
}

PENSTOCK_INLINE result<std::vector<http::object>> http::pin(uri const& root, std::span<std::string const> names,
                                                            std::stop_token const& stop) {
  auto const where = find(root);
  if (!where) return where.error();
  auto const judge = [&](answer const& a) -> result<object> {
    auto const& head = a.head;
    int const status = head.status();
    auto const size = http_detail::size_told(head);
    bool const empty = status == 416 && size == bytes{0};
    if (status != 200 && status != 206 && !empty)
      return net::refused(head, "", a.asked.shown, std::nullopt, a.asked.signer ? a.asked.signer->explain() : "");
    if (auto const coding = head.get("content-encoding"); coding && net::detail::lower(*coding) != "identity")
      return about(a.asked.shown, error_kind::format,
                   "expected the bytes as they are, found Content-Encoding " + std::string(coding->substr(0, 32)) +
                       "; serve the file without");
    if (!size)
      return about(a.asked.shown, error_kind::io,
                   "expected the size of the file, found none; read from a server that tells it");
    if (status == 200 && *size > options_.most_without_ranges)
      return about(a.asked.shown, error_kind::io,
                   "expected a server that answers ranges, found one that sends all " + std::to_string(size->count) +
                       " bytes for any; download the model and load the folder, or use another server");
    object o(a.asked.url, a.asked.shown, *size, head.etag(), a.asked.signer);
    if (head.etag().empty()) o.modified(std::string(head.get("last-modified").value_or("")));
    if (status == 200) o.without_ranges();
    return o;
  };
  std::vector<result<object>> objects;
  for (auto& a : ask(*where, names, stop))
    if (a) objects.push_back(judge(*a));
    else objects.push_back(std::move(a).error());
  return all_of(where->shown, names, std::move(objects));
}

PENSTOCK_INLINE result<std::vector<stored_object>> http::list(uri const& root, std::stop_token const& stop) {
  auto const where = find(root);
  if (!where) return where.error();
  std::vector<std::string> names{http_detail::index_name, http_detail::single_name};
  for (auto const usual : http_detail::usual_names) names.emplace_back(usual);
  auto answers = ask(*where, names, stop);
  std::vector<stored_object> files;
  std::unique_ptr<error> refusal;
  bool indexed = false;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!answers[i]) return std::move(answers[i]).error();
    auto const& head = answers[i]->head;
    if ((head.status() == 401 || head.status() == 403) && !refusal)
      refusal = std::make_unique<error>(
          net::refused(head, "", where->shown, std::nullopt, where->signer ? where->signer->explain() : ""));
    if (head.status() != 200 && head.status() != 206) continue;  // some stores say 403 of what is not there
    files.push_back({names[i], http_detail::size_told(head).value_or(bytes{})});
    indexed = indexed || i == 0;
  }
  if (files.empty() && refusal) return std::move(*refusal);
  if (!indexed) return files;
  auto whole = answers[0]->asked;
  whole.head_alone = whole.any_status = false;
  whole.headers.erase(whole.headers.begin());  // its range
  whole.most = shard_index::most;
  auto const text = net::fetch(whole, options_.http, stop);
  if (!text) return text.error();
  auto const index = shard_index::parse(std::as_bytes(std::span(text->body)), whole.shown);
  if (!index) return index.error();
  for (auto const& file : index->files())
    if (file != http_detail::single_name) files.push_back({file, bytes{}});
  return files;
}

PENSTOCK_INLINE result<std::unique_ptr<http::lane>> http::open_lane(std::span<object const> objects, unsigned index,
                                                                    unsigned depth) {
  return lane::open(objects, options_.http, index, depth);
}

PENSTOCK_INLINE storage_traits http::traits() const noexcept { return traits_over_http(options_.depth); }

static_assert(penstock::detail::check_storage<http>());
}  // namespace storage
PENSTOCK_END
