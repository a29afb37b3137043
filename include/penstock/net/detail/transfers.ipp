#pragma once
// The engine under the lane and under `fetch`: one multi handle, attempts, time limits. Included by .ipp files only.
#include <algorithm>
#include <atomic>

#include <penstock/net/detail/transfer.ipp>

PENSTOCK_BEGIN
namespace net::detail {
/// Requests under way, driven by one thread. The requests belong to the caller and stay where they are.
class transfers {
 public:
  transfers(http_options const& o, multi_handle multi, unsigned most)
      : options_(o), multi_(std::move(multi)), random_(std::random_device{}()) {
    curl_multi_setopt(multi_.get(), CURLMOPT_MAXCONNECTS, static_cast<long>(most) + 4);
    curl_multi_setopt(multi_.get(), CURLMOPT_PIPELINING, static_cast<long>(CURLPIPE_NOTHING));
  }
  ~transfers() { cancel(); }
  transfers(transfers const&) = delete;
  transfers& operator=(transfers const&) = delete;

  static result<std::unique_ptr<transfers>> make(http_options const& o, unsigned most) {
    if (!curl_is_ready()) return error{error_kind::io, "libcurl cannot be initialised; check its installation"};
    multi_handle m(curl_multi_init());
    if (!m) return error{error_kind::memory, "no memory for a queue of requests"};
    return std::make_unique<transfers>(o, std::move(m), most);
  }

  /// Begins a request; its end comes out of `run`.
  void start(transfer& t) {
    t.retry = {};
    t.failed.reset();
    t.unresolved = t.odd_answers = 0;
    t.renewed = false;
    t.options = &options_;
    active_.push_back(&t);
    attempt(t);
  }

  /// Moves everything on until a request ends, `until`, or a wake-up. @returns how many of `ended` are filled
  std::size_t run(std::span<transfer*> ended, clock::time_point until) {
    forgive_absence();
    for (;;) {
      bool const woken = bell_.exchange(false);
      start_delayed();
      int running = 0;
      curl_multi_perform(multi_.get(), &running);
      std::size_t n = 0;
      while (n < ended.size() && !unsent_.empty()) {
        ended[n++] = unsent_.back();
        unsent_.pop_back();
      }
      while (n < ended.size()) {
        auto* const t = next_ended();
        if (!t) break;
        if (is_over(*t)) ended[n++] = t;
      }
      if (n < ended.size()) n += give_up_late_ones(ended.subspan(n));
      for (std::size_t i = 0; i < n; ++i) forget(*ended[i]);
      auto const now = last_run_ = clock::now();
      if (n || woken || now >= until || ended.empty()) return n;
      auto end = until;
      for (auto* t : active_)
        if (t->at != transfer::phase::connecting) end = std::min(end, t->due);
      auto const ms = std::chrono::ceil<std::chrono::milliseconds>(end - now).count();
      curl_multi_poll(multi_.get(), nullptr, 0, static_cast<int>(std::clamp<long>(ms, 0, 3'600'000)), nullptr);
      last_run_ = clock::now();
    }
  }

  /// The flag is needed: curl_multi_poll swallows a wake-up that comes together with socket activity.
  void wake() noexcept {
    bell_.store(true);
    curl_multi_wakeup(multi_.get());
  }

  /// On return no callback runs any more.
  void cancel() noexcept {
    for (auto* t : active_) detach(*t);
    active_.clear();
    unsent_.clear();
  }

  /// Answers that asked us to slow down, so far.
  [[nodiscard]] u64 throttles() const noexcept { return throttles_; }

 private:
  using phase = transfer::phase;

  void attempt(transfer& t) {
    t.head = {};
    t.judged.reset();
    t.error_body.clear();
    t.aborted = {};
    t.arrived = t.arrived_at_mark = 0;
    t.socketless = {};
    t.text[0] = 0;
    if (auto ready = prepare(t); !ready) {
      t.failed = std::make_unique<error>(std::move(ready).error());
      if (t.failed->where().uri.empty()) t.failed->where().uri = t.shown;
      t.at = phase::idle;
      unsent_.push_back(&t);
      return;
    }
    t.at = phase::connecting;
    curl_multi_add_handle(multi_.get(), t.easy.get());
  }

  result<void> prepare(transfer& t) {
    auto const no_memory = [] { return error{error_kind::memory, "no memory for a request; lower the depth"}; };
    http_request r;
    t.describe(r);
    if (t.signer)
      if (auto done = t.signer->authorize(r); !done) return done;
    t.credential = r.credential;
    auto const url = split_url(r.url);
    if (!url) return url.error();
    text_list list;
    for (auto const& h : r.headers) {
      if (has_control_character(h.value))
        return error{error_kind::usage, t.shown + ": expected a value without control characters for the header " +
                                            h.name + "; remove the line break from the credential or option"};
      if (!append(list, h.name + ": " + h.value)) return no_memory();
    }
    if (t.easy) curl_easy_reset(t.easy.get());  // keeps connections
    else t.easy.reset(curl_easy_init());
    CURL* const c = t.easy.get();
    if (!c) return no_memory();
    t.socketless.any_address = t.metadata;
    set_common(c, options_, *url, &t.socketless);
    if (t.metadata) curl_easy_setopt(c, CURLOPT_PROXY, "");
    if (curl_easy_setopt(c, CURLOPT_URL, r.url.c_str()) != CURLE_OK) return no_memory();
    if (r.method == "HEAD") curl_easy_setopt(c, CURLOPT_NOBODY, 1L);
    if (r.method == "POST" || r.method == "PUT") {
      curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE, static_cast<long>(r.body.size()));
      if (curl_easy_setopt(c, CURLOPT_COPYPOSTFIELDS, r.body.c_str()) != CURLE_OK) return no_memory();
      curl_easy_setopt(c, CURLOPT_CUSTOMREQUEST, r.method.c_str());
    }
    t.headers = std::move(list);
    curl_easy_setopt(c, CURLOPT_HTTPHEADER, t.headers.get());
    if (t.way && !t.way->addresses.empty()) {
      auto const& all = t.way->addresses;
      auto const& to = all[t.address % all.size()];
      text_list connect_to;
      bool const v6 = to.find(':') != to.npos;
      if (!append(connect_to, t.way->host + ":" + t.way->port + ":" + (v6 ? "[" + to + "]" : to) + ":" + t.way->port))
        return no_memory();
      t.connect_to = std::move(connect_to);
      curl_easy_setopt(c, CURLOPT_CONNECT_TO, t.connect_to.get());
    }
    curl_easy_setopt(c, CURLOPT_ERRORBUFFER, t.text);
    curl_easy_setopt(c, CURLOPT_PRIVATE, &t);
    curl_easy_setopt(c, CURLOPT_PREREQFUNCTION, &connected);
    curl_easy_setopt(c, CURLOPT_PREREQDATA, &t);
    curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, &header_line);
    curl_easy_setopt(c, CURLOPT_HEADERDATA, &t);
    curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, &body);
    curl_easy_setopt(c, CURLOPT_WRITEDATA, &t);
    return {};
  }

  static int connected(void* self, char*, char*, int, int) {
    auto& t = *static_cast<transfer*>(self);
    t.at = phase::waiting;
    t.due = clock::now() + t.options->first_byte;
    return CURL_PREREQFUNC_OK;
  }

  static std::size_t header_line(char* p, std::size_t, std::size_t n, void* self) {
    auto& t = *static_cast<transfer*>(self);
    bool const before = t.head.ended();
    t.head.take_line({p, n});
    if (t.head.size() > 64U << 10) {
      t.aborted = transfer::why_aborted::header_too_large;
      return 0;
    }
    if (before || !t.head.ended()) return n;
    t.at = phase::receiving;
    t.due = clock::now() + t.options->stall;
    if (!t.accepts(t.head.status())) return n;
    t.judged = t.judge(t.head);
    if (t.judged->next != verdict::what::use) return 0;
    if (t.judged->close_after) curl_easy_setopt(t.easy.get(), CURLOPT_FORBID_REUSE, 1L);
    return n;
  }

  static std::size_t body(char* p, std::size_t, std::size_t n, void* self) {
    auto& t = *static_cast<transfer*>(self);
    if (!t.judged) {  // the body of an error: its beginning may hold the store's code
      if (t.error_body.size() + n > 64U << 10) return 0;
      t.error_body.append(p, n);
      return n;
    }
    auto const how = t.take(reinterpret_cast<std::byte const*>(p), n);
    if (how != taken::too_much) t.arrived += n;
    if (how == taken::all) return n;
    t.aborted = how == taken::enough ? transfer::why_aborted::enough : transfer::why_aborted::excess;
    return 0;
  }

  transfer* next_ended() {
    for (int left = 0;;) {
      auto* const m = curl_multi_info_read(multi_.get(), &left);
      if (!m) return nullptr;
      if (m->msg != CURLMSG_DONE) continue;
      char* self = nullptr;
      CURLcode const code = m->data.result;
      curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &self);
      auto* const t = reinterpret_cast<transfer*>(self);
      detach(*t);
      code_ = code;
      return t;
    }
  }

  bool is_over(transfer& t) {
    bool const accepted =
        t.judged && t.judged->next == verdict::what::use && t.aborted != transfer::why_aborted::excess;
    if (accepted && t.whole(code_ == CURLE_OK)) return true;
    auto const now = clock::now();
    auto f = diagnose(t, code_);
    t.retry.progressed(bytes{t.arrived}, options_.retry);
    throttles_ += f.throttled;
    if (!t.head.ended()) ++t.address;
    if (f.then == failure::next::again_now) return again(t, now);
    auto const hint = f.from_status ? retry_hint(t.head, std::chrono::system_clock::now()) : std::nullopt;
    auto const delay = t.retry.failed(options_.retry, now, f.throttled, hint, random_);
    if (f.then != failure::next::give_up && delay) return again(t, now + *delay);
    t.failed = std::make_unique<error>(final_error(t, f));
    return true;
  }

  bool again(transfer& t, clock::time_point due) {
    t.due = due;
    t.at = phase::delayed;
    return false;
  }

  void start_delayed() {
    auto const now = clock::now();
    for (auto* t : active_)
      if (t->at == phase::delayed && t->due <= now) attempt(*t);
  }

  std::size_t give_up_late_ones(std::span<transfer*> ended) {
    auto const now = clock::now();
    std::size_t n = 0;
    for (auto* t : active_) {
      if (n == ended.size()) break;
      if ((t->at != phase::waiting && t->at != phase::receiving) || t->due > now) continue;
      if (t->at == phase::receiving) {
        auto const wanted = options_.stall_rate.count * static_cast<u64>(options_.stall.count()) / 1000;
        if (t->arrived - t->arrived_at_mark >= wanted) {
          t->arrived_at_mark = t->arrived;
          t->due = now + options_.stall;
          continue;
        }
      }
      t->aborted = t->at == phase::waiting ? transfer::why_aborted::no_answer : transfer::why_aborted::stalled;
      detach(*t);
      code_ = CURLE_OPERATION_TIMEDOUT;
      if (is_over(*t)) ended[n++] = t;
    }
    return n;
  }

  /// Nobody read while this thread was elsewhere: that time is no stall of the store's.
  void forgive_absence() {
    auto const gone = clock::now() - last_run_;
    if (active_.empty() || gone < std::chrono::milliseconds(100)) return;
    for (auto* t : active_)
      if (t->at == phase::waiting || t->at == phase::receiving) t->due += gone;
  }

  void detach(transfer& t) noexcept {
    if (t.at == phase::connecting || t.at == phase::waiting || t.at == phase::receiving)
      curl_multi_remove_handle(multi_.get(), t.easy.get());
    t.at = phase::idle;
  }

  void forget(transfer& t) noexcept { active_.erase(std::find(active_.begin(), active_.end(), &t)); }

  http_options options_;
  multi_handle multi_;
  std::minstd_rand random_;
  std::vector<transfer*> active_;  ///< from `start` to the end of the request
  std::vector<transfer*> unsent_;  ///< failed before anything was sent
  std::atomic<bool> bell_{false};
  clock::time_point last_run_ = clock::now();
  CURLcode code_ = CURLE_OK;
  u64 throttles_ = 0;
};
}  // namespace net::detail
PENSTOCK_END
