#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <thread>

#include <penstock/core/json_writer.hpp>

#include "digest.hpp"
#include "dump.hpp"
#include "interrupt.hpp"
#include "output.hpp"
#include "program.hpp"
#include "progress_bar.hpp"

using namespace penstock;
using host_tensor = owned_tensor<host_memory>;

namespace {
/// What is written of each parameter when it is complete.
struct outputs {
  digest_file digests, digests_after;
  parameter_folder dump;

  result<void> open(arguments const& a) {
    if (!a.digest_after.empty() && a.ownership == "borrow")
      return error{error_kind::usage,
                   "--digest-after: expected --ownership place or own, found borrow, which keeps nothing that derived "
                   "parameters could be made of"};
    if (auto r = digests.open(a.digest); !r) return r;
    if (auto r = digests_after.open(a.digest_after); !r) return r;
    return dump.open(a.dump);
  }
  bool wanted() const { return digests.wanted() || digests_after.wanted() || dump.wanted(); }
  void add(unsigned rank, parameter const& p, std::byte const* data) {
    if (digests.wanted() && !p.derived) digests.add(rank, p, data);
    if (digests_after.wanted()) digests_after.add(rank, p, data);
    if (dump.wanted()) dump.add(rank, p, data);
  }
  result<void> commit() {
    if (auto r = digests.commit(); !r) return r;
    if (auto r = digests_after.commit(); !r) return r;
    return dump.commit();
  }
};

/// What every sink here does when a parameter or a layer is complete.
struct announcements {
  outputs& out;
  trace* events;
  unsigned rank;

  void complete(parameter const& p, std::byte const* data) const {
    if (out.wanted()) out.add(rank, p, data);
  }
  void layer(layer_id l) const {
    if (events) events->mark("layer " + std::to_string(index_of(l)) + " ready", rank);
  }
};

/// place: the parameters of one rank, allocated before the load as an engine does.
class placing {
 public:
  static result<placing> allocate(plan const& p, announcements a) {
    placing s{a};
    for (auto const& q : p.parameters) {
      auto t = host_tensor::allocate(q.size);
      if (!t) return std::move(t).error();
      s.tensors_.push_back(*std::move(t));
    }
    return s;
  }
  placement destination(parameter const& p) {
    return {.at = tensors_[index_of(p.id)].data(), .row_pitch = {}, .expert_stride = {}, .space = memory_space::host};
  }
  void ready(parameter const& p) { tell_.complete(p, tensors_[index_of(p.id)].data()); }
  void layer_ready(layer_id l) { tell_.layer(l); }

 private:
  explicit placing(announcements a) : tell_(a) {}
  announcements tell_;
  std::vector<host_tensor> tensors_;
};

/// borrow: looks at each piece and keeps nothing; only a digest needs the parameter whole, for as long as it is incomplete.
class borrowing {
 public:
  static result<borrowing> allocate(plan const& p, announcements a) { return borrowing{p, a}; }

  void piece(parameter const& p, landed_piece const& w, borrowed_tensor const& t, lease<device::host::stream>&) {
    if (!tell_.out.wanted()) return;
    auto& whole = whole_[index_of(p.id)];
    if (!whole.size().count) whole = host_tensor::allocate(p.size).value();
    for (u64 r = 0; r < w.where.rows; ++r)
      t.copy_to(whole.data() + w.where.at.count + r * w.where.pitch.count, bytes{r * w.pitch.count}, w.where.width);
  }
  void ready(parameter const& p) {
    tell_.complete(p, whole_[index_of(p.id)].data());
    whole_[index_of(p.id)] = {};
  }
  void layer_ready(layer_id l) { tell_.layer(l); }

 private:
  borrowing(plan const& p, announcements a) : tell_(a), whole_(p.parameters.size()) {}
  announcements tell_;
  std::vector<host_tensor> whole_;
};

/// own: each parameter arrives in memory of its own, and is dropped once it was looked at.
class owning {
 public:
  static result<owning> allocate(plan const&, announcements a) { return owning{a}; }
  void operator()(parameter const& p, host_tensor t) const { tell_.complete(p, t.data()); }

 private:
  explicit owning(announcements a) : tell_(a) {}
  announcements tell_;
};

/// Totals on top, one object a rank under `ranks`. Ranks run at the same time: peaks add up, seconds do not.
std::string to_json(std::vector<report> const& ranks, std::vector<unsigned> const& numbers) {
  report sum;
  auto const* slowest = &ranks.front();
  for (auto const& r : ranks) {
    if (r.seconds > slowest->seconds) slowest = &r;
    sum.seconds = std::max(sum.seconds, r.seconds);
    sum.bytes_needed += r.bytes_needed, sum.bytes_read += r.bytes_read, sum.bytes_discarded += r.bytes_discarded,
        sum.bytes_exchanged += r.bytes_exchanged;
    sum.requests += r.requests, sum.retries += r.retries, sum.tensors += r.tensors, sum.parameters += r.parameters;
    sum.peak_host_bytes += r.peak_host_bytes, sum.peak_device_staging_bytes += r.peak_device_staging_bytes,
        sum.peak_retained_bytes += r.peak_retained_bytes;
    sum.cpu_seconds += r.cpu_seconds, sum.bytes_direct += r.bytes_direct, sum.lanes += r.lanes;
    for (auto stage : {&stage_times::read, &stage_times::land, &stage_times::drain})
      (sum.stages.*stage).busy += (r.stages.*stage).busy, (sum.stages.*stage).waiting += (r.stages.*stage).waiting;
  }
  sum.limit = slowest->limit, sum.slots = slowest->slots, sum.slot_bytes = slowest->slot_bytes,
  sum.depth = slowest->depth;
  std::string text = penstock::to_json(sum);
  text.back() = ',';
  text += "\"ranks\":[";
  for (std::size_t i = 0; i < ranks.size(); ++i)
    text += (i ? ",{" : "{") + ("\"rank\":" + std::to_string(numbers[i])) + "," + penstock::to_json(ranks[i]).substr(1);
  return text + "]}";
}

void print(std::vector<report> const& ranks, std::vector<unsigned> const& numbers) {
  std::printf("%5s %14s %14s %9s %8s %11s %9s %12s %s\n", "rank", "needed", "read", "requests", "retries", "parameters",
              "seconds", "peak host", "limit");
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    auto const& r = ranks[i];
    std::printf("%5u %14llu %14llu %9llu %8llu %11llu %9.3f %12llu %s\n", numbers[i],
                static_cast<unsigned long long>(r.bytes_needed.count),
                static_cast<unsigned long long>(r.bytes_read.count), static_cast<unsigned long long>(r.requests),
                static_cast<unsigned long long>(r.retries), static_cast<unsigned long long>(r.parameters), r.seconds,
                static_cast<unsigned long long>(r.peak_host_bytes.count), r.limit.c_str());
  }
  double slowest = 0;
  bytes read;
  for (auto const& r : ranks) slowest = std::max(slowest, r.seconds), read += r.bytes_read;
  std::printf("%s in %.3f s", for_people(read).c_str(), slowest);
  if (slowest > 0)
    std::printf(", %s/s", for_people(bytes{static_cast<u64>(static_cast<double>(read.count) / slowest)}).c_str());
  std::printf("; lanes %u x slots %u x %s, %u reads at once\n", ranks.front().lanes, ranks.front().slots,
              for_people(ranks.front().slot_bytes).c_str(), ranks.front().depth);
}

template <class Policies, class Sink>
result<void> load_with(arguments const& a) {
  interrupt stop;
  trace events;
  bool const traced = !a.trace.empty();
  pipeline<Policies> loader{{}, {}, {traced ? &events : nullptr}};

  auto const begin = trace::clock::now();
  auto m = open_model_of(loader, a, stop.token());
  if (!m) return std::move(m).error();
  auto const opened = trace::clock::now();
  auto plans = plans_of(loader, *m, a);
  if (!plans) return std::move(plans).error();
  events.span("open", begin, opened);
  events.span("plan", opened, trace::clock::now());

  // What is to be written must be writable: found out before the first byte is read.
  outputs out;
  if (auto r = out.open(a); !r) return r;
  std::optional<output_file> json, trace_file;
  for (auto const& [file, path] : {std::pair{&json, &a.json}, {&trace_file, &a.trace}})
    if (!path->empty()) {
      auto f = output_file::create(*path);
      if (!f) return std::move(f).error();
      file->emplace(*std::move(f));
    }
  std::vector<unsigned> numbers;
  std::size_t const ranks = plans->size();
  std::vector<Sink> sinks;
  bytes total;
  for (auto const& p : *plans) {
    auto s = Sink::allocate(p, {out, traced ? &events : nullptr, p.rank});
    if (!s) return std::move(s).error();
    sinks.push_back(*std::move(s));
    numbers.push_back(p.rank);
    total += p.read;
  }

  if (a.check) {
    auto const compared = loader.check(*m, {.arch = a.arch, .quant = a.quant}, stop.token());
    if (!compared) return compared.error();
    auto const n = compared->tensors;
    print_notice("compared " + std::to_string(n) + (n == 1 ? " tensor" : " tensors") +
                 " stored twice or only described: all agree");
  }

  progress_bar bar{a.progress, total, ranks};
  std::vector<std::optional<result<report>>> results(ranks);
  auto const from = trace::clock::now();
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < ranks; ++i)
      threads.emplace_back([&, i] {
        load_options o;
        o.stop = stop.token();
        o.rank = (*plans)[i].rank;
        o.watch.on_progress = [&bar, i](progress const& p) { bar.update(i, p.done); };
        o.watch.on_notice = [&bar](std::string_view text) { bar.notice(text); };
        try {
          results[i].emplace(loader.load((*plans)[i], sinks[i], o));
        } catch (error const& e) { results[i].emplace(e); }
        if (!results[i]->has_value()) stop.request_stop();  // one rank failed: the others need not go on
      });
  }
  if (trace_file) {  // also of a load that failed
    events.span("load", from, trace::clock::now());
    if (auto r = events.write(*trace_file); !r) return r;
  }
  std::vector<report> reports;
  error const* why = nullptr;
  for (auto const& r : results) {
    if (r->has_value()) reports.push_back(**r);
    else if (!why || why->kind() == error_kind::cancelled) why = &r->error();
  }
  if (why) {
    bar.abandon();
    return *why;
  }
  bar.finish();
  if (json) {
    json->write_line(to_json(reports, numbers));
    if (auto r = json->commit(); !r) return r;
  }
  if (auto r = out.commit(); !r) return r;
  if (a.json != "-" && a.digest != "-" && a.digest_after != "-" && a.trace != "-") print(reports, numbers);
  return {};
}
}  // namespace

result<void> load(arguments const& a) {
  if (auto ok = check_parts(a); !ok) return ok;
  if (a.ownership == "borrow") return load_with<borrow_policies, borrowing>(a);
  if (a.ownership == "own") return load_with<own_policies, owning>(a);
  return load_with<program_policies, placing>(a);
}
