/// Many whole loads in one process, each commanded by a line of standard input and told by a line of JSON:
///
///     load uri=URI [tp=N rank=N arch=NAME slot=N lanes=N limit=N ownership=place|own|borrow serial=0|1 direct=N cache=DIR]
///          [endpoint=URL account=NAME key=BASE64 ca=FILE]                   without a key: anonymously
///          [attempts=N base=MS first_byte=MS stall=MS connect=MS time=MS depth=N]
///          [cancel_us=N]                                                  from another thread, so long after the beginning
///          [memory_at=N]                                                  own: the N-th allocation fails
///          and what trouble.hpp and disk_faults.hpp know
///
/// A result has `error` and `message`, or `thrown`, or neither; `digests` of all that was announced; the time, the time
/// from the cancel to the return, and how many threads, descriptors and bytes of heap are in use afterwards.
#include <condition_variable>
#include <iostream>
#include <optional>

#include <penstock/arch/any_of.hpp>
#include <penstock/arch/as_stored.hpp>
#include <penstock/arch/llama.hpp>
#include <penstock/core/json_writer.hpp>
#include <penstock/quant/any_of.hpp>
#include <penstock/quant/none.hpp>
#include <penstock/storage/any.hpp>

#include "disk_faults.hpp"
#include "gauges.hpp"
#include "sinks.hpp"

using namespace penstock;
using clock_type = std::chrono::steady_clock;

namespace {
struct place_policies : defaults {
  using storage = penstock::storage::any;
  using ownership = penstock::ownership::place;
  using quant = penstock::quant::none;
  using arch = penstock::arch::any_of<penstock::arch::llama, penstock::arch::as_stored>;
};
struct borrow_policies : place_policies {
  using ownership = penstock::ownership::borrow;
};
struct own_policies : place_policies {
  using ownership = penstock::ownership::own<scarce_memory>;
};

storage::azure_options azure(command const& c) {
  auto const ms = [&](char const* name, std::chrono::milliseconds otherwise) {
    return std::chrono::milliseconds(c.number(name, otherwise.count()));
  };
  storage::azure_options o;
  o.environment = false;
  o.account.endpoint = c.text("endpoint"), o.account.account = c.text("account", "devaccount");
  o.account.key = c.text("key"), o.account.anonymous = o.account.key.empty();
  o.depth = c.count("depth", o.depth);
  auto& h = o.http;
  h.retry.attempts = c.count("attempts", h.retry.attempts);
  h.retry.base = h.retry.throttled_base = ms("base", h.retry.base);
  h.retry.cap = 10 * h.retry.base;
  h.retry.time = ms("time", h.retry.time);
  h.first_byte = ms("first_byte", h.first_byte), h.stall = ms("stall", h.stall), h.connect = ms("connect", h.connect);
  h.ca_file = c.text("ca");
  return o;
}

/// Requests a stop after a while, unless it is sent home before.
class canceller {
 public:
  canceller(std::stop_source& stop, long microseconds) {
    if (microseconds >= 0)
      thread_ = std::thread([this, &stop, microseconds] {
        std::unique_lock lock(m_);
        if (home_.wait_for(lock, std::chrono::microseconds(microseconds), [&] { return done_; })) return;
        at_ = clock_type::now();
        lock.unlock();
        stop.request_stop();
      });
  }
  ~canceller() { end(); }
  canceller(canceller const&) = delete;
  canceller& operator=(canceller const&) = delete;

  /// @returns when it requested the stop, if it did
  std::optional<clock_type::time_point> end() {
    {
      std::lock_guard const lock(m_);
      done_ = true;
    }
    home_.notify_all();
    if (thread_.joinable()) thread_.join();
    return at_;
  }

 private:
  std::thread thread_;
  std::mutex m_;
  std::condition_variable home_;
  bool done_ = false;
  std::optional<clock_type::time_point> at_;
};

struct outcome {
  std::optional<error> failed;
  std::string thrown, stage = "open";
  std::map<std::string, std::string> digests;
  u64 retries = 0, read = 0;
  bool quiet = true;
  clock_type::time_point returned{};
};

template <class Policies, class Sink>
void run(command const& c, std::stop_source& stop, trouble& t, outcome& o) {
  pipeline<Policies> loader{storage::any{storage::local{&disk_faults::read}, storage::azure_blob{azure(c)}}};
  open_options how;
  how.cache = c.text("cache"), how.stop = stop.get_token();
  auto const m = loader.open(c.text("uri"), how);
  o.returned = clock_type::now();
  if (!m) return void(o.failed = m.error());
  o.stage = "plan";
  auto const arch = c.text("arch");
  plan_request request;
  request.arch = arch, request.slot = c.size("slot", 0), request.lanes = c.count("lanes", 0);
  request.memory_limit = c.size("limit", 512L << 20);
  auto const p = loader.plan(*m, topology{.tp = c.count("tp", 1), .rank = c.count("rank", 0)}, request);
  if (!p) return void(o.failed = p.error());
  o.stage = "load";
  Sink sink(*p, t);
  readiness ready(*p);
  load_options options;
  options.stop = stop.get_token(), options.serial_sink = c.number("serial", 1) != 0, options.ready = &ready;
  options.direct_above = c.size("direct", 1024);
  auto const end = [&] {
    o.returned = clock_type::now();
    t.end();
    auto const before = sink.memory;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    o.quiet = before == sink.memory;
    o.digests = sink.digests();
  };
  try {
    auto const r = loader.load(*p, sink, options);
    if (r) o.retries = r->retries, o.read = r->bytes_read.count;
    else o.failed = r.error();
  } catch (...) {
    end();
    throw;
  }
  end();
}

std::string load(command const& c, gauges const& first) {
  std::stop_source stop;
  outcome o;
  trouble t(c, stop);
  disk_faults::set(c, stop);
  scarce_memory::left = c.number("memory_at", -1);
  auto const begun = clock_type::now();
  std::optional<clock_type::time_point> stopped;
  {
    canceller by(stop, c.number("cancel_us", -1));
    try {
      auto const ownership = c.text("ownership", "place");
      if (ownership == "own") run<own_policies, owning_sink>(c, stop, t, o);
      else if (ownership == "borrow") run<borrow_policies, borrow_sink>(c, stop, t, o);
      else run<place_policies, place_sink>(c, stop, t, o);
    } catch (std::exception const& e) { o.thrown = e.what(); } catch (...) {
      o.thrown = "something else";
    }
    stopped = by.end();
  }
  if (t.stopped() != clock_type::time_point{}) stopped = t.stopped();

  auto const milliseconds = [](auto d) { return std::chrono::duration<double, std::milli>(d).count(); };
  std::string line;
  {
    penstock::detail::json_object out(line);
    if (o.failed) {
      out.add("error", name_of(o.failed->kind())), out.add("message", o.failed->message());
      out.add("attempts", o.failed->where().attempts), out.add("uri", o.failed->where().uri);
    }
    if (!o.thrown.empty()) out.add("thrown", o.thrown);
    {
      penstock::detail::json_object all(out.key("digests"));
      for (auto const& [name, digest] : o.digests) all.add(name, digest);
    }
    out.add("stage", o.stage);
    out.add("ms", milliseconds(o.returned - begun));
    if (stopped) out.add("cancel_ms", milliseconds(o.returned - *stopped));
    out.add("retries", o.retries), out.add("bytes_read", o.read);
    out.add("calls", static_cast<u64>(t.calls())), out.add("reads", static_cast<u64>(disk_faults::reads.load()));
    out.key("quiet") += o.quiet && t.quiet() ? "true" : "false";
    out.key("overlapped") += t.overlapped() ? "true" : "false";
    auto const now = gauges::settled(first.threads);
    out.add("threads", static_cast<u64>(now.threads - first.threads));
    out.add("descriptors", static_cast<u64>(now.descriptors - first.descriptors));
    out.add("heap", u64{now.heap});
  }
  return line;
}
}  // namespace

int main() {
  std::thread([] {}).join();  // a sanitizer starts a thread of its own with the first one
  auto const first = gauges::settled(1);
  for (std::string line; std::getline(std::cin, line);) {
    command const c(line);
    if (c.what() != "load") continue;
    auto told = load(c, first);
    std::cout << told << std::endl;
  }
}
