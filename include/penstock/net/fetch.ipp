#pragma once
#include <penstock/net/detail/transfers.ipp>
#include <penstock/net/fetch.hpp>

PENSTOCK_BEGIN
namespace net {
namespace detail {
struct small_transfer final : transfer {
  void describe(http_request& r) const override {
    r.method = request->method;
    r.url = request->url;
    r.headers = request->headers;
    r.body = request->body;
  }
  bool accepts(int status) const noexcept override {
    return status < 300 || (request->any_status && !worth_a_retry(status));
  }
  verdict judge(response_head const& h) override {
    body.clear();
    if (h.contradicts_itself("content-length") || (h.get("content-length") && !h.content_length()))
      return {verdict::what::retry, error_kind::io, "the answer's Content-Length is no single number"};
    if (request->head_alone) return {};
    if (auto const n = h.content_length(); n && *n > request->most && request->method != "HEAD") return too_large();
    return {};
  }
  taken take(std::byte const* from, std::size_t n) override {
    if (request->head_alone) return taken::enough;
    if (body.size() + n > request->most.count) {
      judged = too_large();
      return taken::too_much;
    }
    body.append(reinterpret_cast<char const*>(from), n);
    return taken::all;
  }
  bool whole(bool clean) const noexcept override { return clean || request->head_alone; }
  verdict too_large() const {
    return {verdict::what::refuse, error_kind::io,
            "expected an answer of at most " + std::to_string(request->most.count) +
                " bytes, found more; check the address"};
  }

  small_request const* request = nullptr;
  std::size_t index = 0;
  std::string body;
};
}  // namespace detail

PENSTOCK_INLINE std::vector<result<small_answer>> fetch(std::span<small_request const> requests,
                                                        http_options const& options, unsigned at_once,
                                                        std::stop_token const& stop) {
  std::vector<result<small_answer>> answers;
  answers.reserve(requests.size());
  for (std::size_t i = 0; i < requests.size(); ++i) answers.emplace_back(small_answer{});
  auto const count = static_cast<unsigned>(std::min<std::size_t>(std::max(at_once, 1U), requests.size()));
  std::vector<std::unique_ptr<detail::small_transfer>> all;
  auto engine = detail::transfers::make(options, count);
  if (!engine) {
    for (auto& a : answers) a = engine.error();
    return answers;
  }
  std::size_t next = 0, left = requests.size();
  auto const begin = [&](detail::small_transfer& t) {
    t.index = next;
    t.request = &requests[next++];
    t.shown = t.request->shown;
    t.signer = t.request->signer;
    t.metadata = t.request->metadata;
    (*engine)->start(t);
  };
  for (unsigned i = 0; i < count; ++i) begin(*all.emplace_back(std::make_unique<detail::small_transfer>()));
  std::vector<detail::transfer*> ended(count);
  std::stop_callback const on_stop(stop, [&e = **engine]() noexcept { e.wake(); });
  while (left) {
    if (stop.stop_requested()) {
      for (std::size_t i = 0; i < answers.size(); ++i)
        answers[i] = error{error_kind::cancelled,
                           "stopped on request while " + requests[i].shown + " was asked for",
                           {.uri = requests[i].shown}};
      return answers;
    }
    std::size_t const n = (*engine)->run(ended, detail::clock::now() + std::chrono::minutes(1));
    for (std::size_t i = 0; i < n; ++i) {
      auto& t = static_cast<detail::small_transfer&>(*ended[i]);
      if (t.failed) answers[t.index] = std::move(*t.failed);
      else answers[t.index] = small_answer{std::move(t.head), std::move(t.body)};
      --left;
      if (next < requests.size()) begin(t);
    }
  }
  return answers;
}

PENSTOCK_INLINE result<small_answer> fetch(small_request const& request, http_options const& options,
                                           std::stop_token const& stop) {
  auto answers = fetch(std::span(&request, 1), options, 1, stop);
  return std::move(answers.front());
}
}  // namespace net
PENSTOCK_END
