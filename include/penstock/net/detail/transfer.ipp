#pragma once
// One request with all its attempts: its state, and what the end of an attempt means. Included by .ipp files only.
#include <chrono>
#include <optional>
#include <span>
#include <system_error>

#include <penstock/net/detail/curl.ipp>
#include <penstock/net/http_failure.hpp>
#include <penstock/net/retry.hpp>
#include <penstock/net/text.hpp>

PENSTOCK_BEGIN
namespace net::detail {
using clock = std::chrono::steady_clock;

/// What became of bytes that came.
enum class taken : u8 {
  all,
  enough,    ///< what is left of the answer is not wanted
  too_much,  ///< more than was asked for: none of them is taken
};

/// What a kind of request adds: what to ask for, which answers will do, and where the bytes go.
struct transfer {
  transfer() = default;
  virtual ~transfer() = default;
  transfer(transfer const&) = delete;
  transfer& operator=(transfer const&) = delete;

  /// The next attempt, without authorisation.
  virtual void describe(http_request& r) const = 0;
  /// Is an answer with this status the one that was wanted?
  [[nodiscard]] virtual bool accepts(int status) const noexcept { return status < 300; }
  /// At the end of the header of such an answer. What is not `use` ends the attempt there.
  virtual verdict judge(response_head const& head) = 0;
  /// Bytes of an accepted body.
  virtual taken take(std::byte const* from, std::size_t n) = 0;
  /// Is everything there? @param clean  the answer ended as it should
  [[nodiscard]] virtual bool whole(bool clean) const noexcept = 0;
  /// Bytes taken so far are not to be trusted: the next attempt begins at the beginning.
  virtual void start_over() noexcept {}
  /// What is still to come, for messages.
  [[nodiscard]] virtual std::optional<byte_range> missing() const noexcept { return std::nullopt; }

  // Set by the owner before the request begins.
  std::string shown;
  std::shared_ptr<authorizer> signer;
  std::optional<bytes> expected_size;
  route const* way = nullptr;
  bool metadata = false;  ///< see small_request

  // The request so far.
  retry_state retry;
  std::unique_ptr<error> failed;
  unsigned address = 0;  ///< which of the route's
  u32 unresolved = 0, odd_answers = 0;
  u64 credential = 0;
  bool renewed = false;

  // The present attempt.
  enum class phase : u8 { idle, connecting, waiting, receiving, delayed } at = phase::idle;
  enum class why_aborted : u8 { not_at_all, excess, enough, header_too_large, no_answer, stalled } aborted{};
  no_socket socketless;
  u64 arrived = 0, arrived_at_mark = 0;
  clock::time_point due{};  ///< delayed: when it goes on; waiting, receiving: when it is given up
  response_head head;
  std::optional<verdict> judged;
  std::string error_body;

  http_options const* options = nullptr;
  easy_handle easy;
  text_list headers, connect_to;
  char text[CURL_ERROR_SIZE] = {};
};

/// Why an attempt failed, and whether another one may help.
struct failure {
  enum class next : u8 { again, again_now, once_more, give_up } then = next::give_up;
  error_kind kind = error_kind::io;
  std::string text;
  bool throttled = false;
  bool from_status = false;  ///< the answer itself is the error
};

/// Where the environment names a proxy for this request, it may be what does not answer.
inline std::string proxy_hint(CURL* easy) {
  char const* url = nullptr;
  curl_easy_getinfo(easy, CURLINFO_EFFECTIVE_URL, &url);
  auto const parts = split_url(url ? url : "");
  if (!parts || is_loopback(parts->host)) return {};
  for (char const* name : {"https_proxy", "HTTPS_PROXY", "http_proxy", "all_proxy", "ALL_PROXY"})
    if (char const* value = std::getenv(name); value && *value)
      return std::string(" (") + name + " names a proxy: correct or unset it)";
  return {};
}

/// What libcurl says about the connection, sorted by whether another attempt can help.
inline failure transport_failure(transfer& t, CURLcode code) {
  using next = failure::next;
  std::string text = t.text[0] ? t.text : curl_easy_strerror(code);
  if (code == CURLE_SSL_CONNECT_ERROR && text.find("wrong version number") != text.npos)
    text += " (this port does not speak TLS: is http:// meant?)";
  if (code == CURLE_COULDNT_CONNECT || code == CURLE_COULDNT_RESOLVE_PROXY) text += proxy_hint(t.easy.get());
  switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
      return {++t.unresolved < 2 ? next::again : next::give_up, error_kind::transient, text};
    case CURLE_OK:  // no answer at all, in form an end without fault
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_CONNECT:
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_HTTP2:
    case CURLE_PARTIAL_FILE:
    case CURLE_OPERATION_TIMEDOUT:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_HTTP2_STREAM: return {next::again, error_kind::transient, text};
    case CURLE_PEER_FAILED_VERIFICATION:
      return {next::give_up, error_kind::access,
              "expected a certificate that a known authority signed for this host, found another (" + text +
                  "); give the authority by ca_file or CURL_CA_BUNDLE"};
    case CURLE_SSL_CACERT_BADFILE:
      return {next::give_up, error_kind::usage,
              "expected a PEM file of authorities (ca_file, CURL_CA_BUNDLE, SSL_CERT_FILE), found none that can be "
              "read (" +
                  text + "); correct its path"};
    case CURLE_OUT_OF_MEMORY: return {next::give_up, error_kind::memory, "libcurl has no memory; lower the depth"};
    case CURLE_UNSUPPORTED_PROTOCOL:
      return {next::give_up, error_kind::io, "expected an HTTP answer, found something else; check host and port"};
    default: return {next::give_up, error_kind::io, text + "; check the address"};
  }
}

inline std::string seconds(std::chrono::milliseconds t) {
  auto const n = std::to_string(t.count());
  return t.count() % 1000 ? n + " ms" : std::to_string(t.count() / 1000) + " s";
}

/// The end of an attempt that did not bring everything.
inline failure diagnose(transfer& t, CURLcode code) {
  using next = failure::next;
  using why = transfer::why_aborted;
  if (t.socketless.forbidden)
    return {next::give_up, error_kind::access,
            "expected a store, found an address of a metadata service or the like; correct the host"};
  if (int const n = t.socketless.number; n == EMFILE || n == ENFILE || n == ENOBUFS || n == ENOMEM)
    return {next::give_up, n == ENOMEM || n == ENOBUFS ? error_kind::memory : error_kind::io,
            "expected a socket for a connection, found none: " + std::generic_category().message(n) +
                "; raise the limit of open files (ulimit -n), or lower the depth"};
  if (t.aborted == why::header_too_large)
    return {next::give_up, error_kind::io, "expected at most 64 KiB of headers, found more; check host and port"};
  if (t.judged && t.judged->next != verdict::what::use) {
    auto const& v = *t.judged;
    if (v.next == verdict::what::retry) return {next::again, error_kind::transient, v.why};
    bool const once = v.next == verdict::what::retry_once && ++t.odd_answers < 2;
    return {once ? next::once_more : next::give_up, v.kind, v.why};
  }
  if (t.aborted == why::excess) {
    t.start_over();
    return {++t.odd_answers < 2 ? next::once_more : next::give_up, error_kind::format,
            "expected the bytes asked for, found more; look for a proxy that changes answers"};
  }
  if (t.head.ended() && !t.judged) {
    int const status = t.head.status();
    auto const name = store_code(t.head, t.error_body);
    auto const kind = kind_of(status, name);
    failure f{next::give_up, kind, "status " + std::to_string(status) + (name.empty() ? "" : " " + name)};
    f.from_status = true;
    f.throttled = is_throttling(status);
    if (worth_a_retry(status) || name == "RequestTimeout") f.then = next::again;
    if (status < 500 && !t.renewed && t.signer && t.signer->renew({t.head, name, t.error_body, t.credential})) {
      t.renewed = true;
      f.then = next::again_now;
    }
    return f;
  }
  if (t.aborted == why::no_answer)
    return {next::again, error_kind::transient, "no answer within " + seconds(t.options->first_byte)};
  if (t.aborted == why::stalled)
    return {next::again, error_kind::transient,
            "the body stalled: less than " + std::to_string(t.options->stall_rate.count >> 10) + " KiB/s for " +
                seconds(t.options->stall)};
  if (code == CURLE_OPERATION_TIMEDOUT)
    return {next::again, error_kind::transient, "no connection within " + seconds(t.options->connect)};
  auto f = transport_failure(t, code);
  if (t.judged) f.text = "the body ended early: " + (code == CURLE_OK ? "connection closed" : f.text);
  return f;
}

/// The error of a request that is not tried again.
inline error final_error(transfer& t, failure const& f) {
  std::optional<bytes> const size = t.expected_size;
  u32 const attempts = t.retry.failures();
  bool const used_up = f.then == failure::next::again;
  if (f.from_status && !used_up) {
    auto e = refused(t.head, t.error_body, t.shown, size, t.signer ? t.signer->explain() : std::string());
    e.where().attempts = attempts;
    e.where().range = t.missing();
    return e;
  }
  std::string message = t.shown + ": ";
  auto const missing = t.missing();
  if (missing) message += "bytes " + text_of(*missing) + ": ";
  auto const kind = used_up ? error_kind::transient : f.kind;
  if (used_up || kind == error_kind::transient)
    message += "expected an answer, gave up after " + std::to_string(attempts) +
               (attempts == 1 ? " attempt" : " attempts") + ", the last with: " + f.text +
               "; check the endpoint and the network, or try again when the store answers";
  else message += f.text;
  error e{kind, std::move(message)};
  e.where().uri = t.shown;
  e.where().range = missing;
  e.where().attempts = attempts;
  e.where().http_status = t.head.ended() ? t.head.status() : 0;
  if (f.from_status) e.where().store_code = store_code(t.head, t.error_body);
  e.where().request_id = request_id_of(t.head);
  return e;
}
}  // namespace net::detail
PENSTOCK_END
