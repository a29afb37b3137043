#pragma once
#include <cstring>

#include <penstock/net/detail/transfers.ipp>
#include <penstock/net/http_lane.hpp>

PENSTOCK_BEGIN
namespace net {
namespace detail {
/// A range on its way into the places of its request.
struct range_transfer final : transfer {
  void describe(http_request& r) const override {
    r.url = request.from->url();
    if (request.from->has_ranges()) r.headers.push_back({"Range", "bytes=" + text_of(rest())});
    auto const& etag = request.from->etag();
    if (!etag.empty() && !etag.starts_with("W/")) r.headers.push_back({"If-Match", etag});
  }
  verdict judge(response_head const& h) override {
    auto const& o = *request.from;
    to_skip = h.status() == 200 ? rest().first.count : 0;
    return judge_range(h, {rest(), o.size(), o.etag(), o.modified(), !o.has_ranges()});
  }
  taken take(std::byte const* from, std::size_t n) override {
    auto const skipped = static_cast<std::size_t>(std::min<u64>(to_skip, n));
    to_skip -= skipped;
    from += skipped;
    n -= skipped;
    bool const more = n > rest().size.count;
    if (more && request.from->has_ranges()) return taken::too_much;
    n = std::min<std::size_t>(n, rest().size.count);
    got += n;
    while (n) {
      auto const& to = request.to[place];
      std::size_t const part = std::min(n, to.bytes - filled);
      if (part) std::memcpy(to.to + filled, from, part);
      from += part;
      n -= part;
      filled += part;
      if (filled == to.bytes) ++place, filled = 0;
    }
    return more ? taken::enough : taken::all;
  }
  bool whole(bool) const noexcept override { return got == request.range.size.count; }
  void start_over() noexcept override {
    got = 0;
    place = filled = 0;
  }
  std::optional<byte_range> missing() const noexcept override { return rest(); }

  byte_range rest() const noexcept { return {request.range.first + bytes{got}, request.range.size - bytes{got}}; }

  read_request<http_object> request;
  u64 got = 0;             ///< good bytes so far
  u64 to_skip = 0;         ///< of this answer: what comes before them
  std::size_t place = 0;   ///< in request.to
  std::size_t filled = 0;  ///< of that place
};

/// How many requests a store bears: additive increase, multiplicative decrease.
class window {
 public:
  explicit window(unsigned most) noexcept : most_(most), now_(most) {}
  [[nodiscard]] unsigned size() const noexcept { return now_; }
  /// Requests that were refused together count as one refusal.
  void refused(clock::time_point t) noexcept {
    if (t - changed_ < std::chrono::seconds(1)) return;
    now_ = std::max(std::min(most_, 2U), now_ / 2);
    changed_ = t;
  }
  void succeeded(clock::time_point t) noexcept {
    if (now_ == most_ || t - changed_ < std::chrono::seconds(1)) return;
    ++now_;
    changed_ = t;
  }

 private:
  unsigned most_, now_;
  clock::time_point changed_{};
};
}  // namespace detail

struct http_lane::state {
  state(std::vector<route> r, std::unique_ptr<detail::transfers> e, unsigned depth)
      : routes(std::move(r)), size(depth), engine(std::move(e)) {}

  /// What is wrong with a request, before anything is sent.
  static std::unique_ptr<error> wrong(read_request<http_object> const& r) {
    auto const& o = *r.from;
    auto const say = [&](error_kind kind, std::string text) {
      error_context where;
      where.uri = o.shown();
      where.range = r.range;
      return std::make_unique<error>(kind, o.shown() + ": " + std::move(text), std::move(where));
    };
    if (r.range.first > o.size() || r.range.size > o.size() - r.range.first)
      return say(error_kind::format, "expected an object of at least " + std::to_string(r.range.end().count) +
                                         " bytes, found " + std::to_string(o.size().count) +
                                         ": truncated; store it again");
    u64 room = 0;
    for (auto const& s : r.to) room += s.bytes;
    if (room != r.range.size.count)
      return say(error_kind::usage,
                 "expected places for " + std::to_string(r.range.size.count) + " bytes, found " + std::to_string(room));
    return nullptr;
  }

  std::vector<route> routes;
  std::vector<std::unique_ptr<detail::range_transfer>> all;
  std::vector<detail::range_transfer*> idle;
  std::vector<detail::transfer*> ended;
  std::vector<completion> early;  ///< those that need no request
  detail::window size;
  u64 throttles_seen = 0;
  std::unique_ptr<detail::transfers> engine;  ///< last: it lets go of all transfers when it is destroyed
};

PENSTOCK_INLINE http_lane::http_lane(std::unique_ptr<state> s) noexcept : state_(std::move(s)) {}
PENSTOCK_INLINE http_lane::~http_lane() = default;

PENSTOCK_INLINE result<std::unique_ptr<http_lane>> http_lane::open(std::span<http_object const> objects,
                                                                   http_options const& options, unsigned index,
                                                                   unsigned depth) {
  depth = std::max(depth, 1U);
  auto engine = detail::transfers::make(options, depth);
  if (!engine) return std::move(engine).error();
  std::vector<std::string> origins;
  for (auto const& o : objects) {
    auto const slash = o.url().find('/', o.url().find("://") + 3);
    auto origin = o.url().substr(0, slash) + "/";
    if (std::find(origins.begin(), origins.end(), origin) == origins.end()) origins.push_back(std::move(origin));
  }
  auto routes = resolve(origins);
  if (!routes) return std::move(routes).error();
  auto s = std::make_unique<state>(*std::move(routes), *std::move(engine), depth);
  for (unsigned i = 0; i < depth; ++i) {
    s->all.push_back(std::make_unique<detail::range_transfer>());
    s->all.back()->address = index * depth + i;
    s->idle.push_back(s->all.back().get());
  }
  s->ended.resize(depth);
  return std::unique_ptr<http_lane>(new http_lane(std::move(s)));
}

PENSTOCK_INLINE unsigned http_lane::depth() const noexcept { return state_->size.size(); }

PENSTOCK_INLINE bytes http_lane::transport_bytes() const noexcept {
  return state_->all.size() * detail::transport_per_request;
}

PENSTOCK_INLINE void http_lane::submit(read_request<http_object> const& request) {
  auto& s = *state_;
  auto failed = state::wrong(request);
  if (!failed && s.idle.empty())
    failed = std::make_unique<error>(error_kind::usage, "expected at most " + std::to_string(s.all.size()) +
                                                            " reads outstanding, found one more; ask depth() first");
  if (failed || request.range.size == bytes{0}) {
    s.early.push_back({request.tag, 0, std::move(failed)});
    return;
  }
  auto& t = *s.idle.back();
  s.idle.pop_back();
  t.request = request;
  t.got = 0;
  t.place = t.filled = 0;
  t.shown = request.from->shown();
  t.signer = request.from->signer();
  t.expected_size = request.from->size();
  t.way = nullptr;
  auto const& url = request.from->url();
  for (auto const& r : s.routes)
    if (url.starts_with(r.origin) && url.substr(r.origin.size(), 1) == "/") t.way = &r;
  s.engine->start(t);
}

PENSTOCK_INLINE std::size_t http_lane::wait(std::span<completion> out, std::chrono::microseconds most) {
  auto& s = *state_;
  std::size_t n = 0;
  for (; n < out.size() && !s.early.empty(); s.early.pop_back()) out[n++] = std::move(s.early.back());
  if (n) return n;
  auto const now = detail::clock::now();
  auto const until = now + std::min<std::chrono::microseconds>(most, std::chrono::hours(1));
  auto const places = std::span(s.ended).first(std::min(out.size(), s.ended.size()));
  std::size_t const found = s.engine->run(places, until);
  for (auto* ended : places.first(found)) {
    auto& t = static_cast<detail::range_transfer&>(*ended);
    if (!t.failed) s.size.succeeded(detail::clock::now());
    out[n++] = {t.request.tag, t.retry.failures(), std::move(t.failed)};
    s.idle.push_back(&t);
  }
  if (auto const seen = s.engine->throttles(); seen != s.throttles_seen) {
    s.throttles_seen = seen;
    s.size.refused(detail::clock::now());
  }
  return n;
}

PENSTOCK_INLINE void http_lane::wake() noexcept { state_->engine->wake(); }

PENSTOCK_INLINE void http_lane::cancel() noexcept {
  state_->engine->cancel();
  state_->early.clear();
  state_->idle.clear();
  for (auto const& t : state_->all) state_->idle.push_back(t.get());  // within its capacity
}
}  // namespace net
PENSTOCK_END
