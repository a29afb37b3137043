#include <penstock/plan/describe.hpp>

#include <algorithm>
#include <cstdio>

#include "output.hpp"
#include "program.hpp"
#include "progress_bar.hpp"

using namespace penstock;

namespace {
/// Totals on top, one object a rank under `ranks`.
std::string to_json(std::vector<pipeline<program_policies>::plan_type> const& plans) {
  std::string text;
  {
    penstock::detail::json_object o(text);
    bytes needed, read, discarded, host, kept;
    u64 requests = 0, tensors = 0, parameters = 0, copies = 0;
    double seconds = 0;
    plan_price price;  // of the slowest rank
    for (auto const& p : plans) {
      needed += p.needed, read += p.read, discarded += p.discarded, host += p.memory.total(), kept += p.memory.kept;
      requests += p.requests, tensors += p.tensors, parameters += p.parameters.size(), copies += p.copies.size();
      seconds = std::max(seconds, p.seconds);
      price.read = std::max(price.read, p.price.read), price.copy = std::max(price.copy, p.price.copy);
    }
    o.add("bytes_needed", needed), o.add("bytes_read", read), o.add("bytes_discarded", discarded),
        o.add("bytes_exchanged", bytes{});
    o.add("requests", requests), o.add("tensors", tensors), o.add("parameters", parameters), o.add("copies", copies);
    o.add("peak_host_bytes", host), o.add("peak_retained_bytes", kept), o.add("plan_seconds", seconds);
    add_price(o, text, price);
    o.add("input_hash", penstock::detail::hex_of(plans.front().input_hash));
    auto& ranks = o.key("ranks") += '[';
    for (std::size_t i = 0; i < plans.size(); ++i) ranks += (i ? "," : "") + penstock::to_json(plans[i]);
    ranks += ']';
  }
  return text;
}
}  // namespace

result<void> show_plan(arguments const& a) {
  if (auto ok = check_parts(a); !ok) return ok;
  pipeline<program_policies> loader;
  auto m = open_model_of(loader, a);
  if (!m) return std::move(m).error();
  auto plans = plans_of(loader, *m, a);
  if (!plans) return std::move(plans).error();

  if (!a.reads.empty()) {
    auto f = output_file::create(a.reads);
    if (!f) return std::move(f).error();
    for (auto const& p : *plans)
      for (auto const& r : p.reads) f->write_line(penstock::to_json(p, r));
    if (auto done = f->commit(); !done) return done;
  }
  if (!a.json.empty())
    if (auto done = write_file(a.json, to_json(*plans)); !done) return done;
  if (a.json == "-" || a.reads == "-") return {};

  std::printf("%5s %14s %14s %14s %9s %8s %9s %10s %14s %8s %8s\n", "rank", "needed", "read", "discarded", "requests",
              "copies", "tensors", "parameters", "memory", "read s", "copy s");
  for (auto const& p : *plans)
    std::printf("%5u %14llu %14llu %14llu %9llu %8zu %9llu %10zu %14llu %8.2f %8.2f\n", p.rank,
                static_cast<unsigned long long>(p.needed.count), static_cast<unsigned long long>(p.read.count),
                static_cast<unsigned long long>(p.discarded.count), static_cast<unsigned long long>(p.requests),
                p.copies.size(), static_cast<unsigned long long>(p.tensors), p.parameters.size(),
                static_cast<unsigned long long>(p.memory.total().count), p.price.read, p.price.copy);
  auto const& mem = plans->front().memory;
  std::printf("each rank: %u lanes x %u slots of %s, %u reads at once in a lane, transport %s; exchange: independent\n",
              mem.lanes, mem.slots, for_people(mem.slot).c_str(), mem.depth, for_people(mem.transport).c_str());
  return {};
}
