/// A load from Azure Blob Storage, or an emulator, against a bare libcurl loop over the same ranges.
///
///   azure URI OBJECT SAS_URL [--rounds N] [--json FILE]
///
/// URI is the folder of the object, e.g. az://container; credentials come from the environment. SAS_URL is the object
/// with a SAS for the bare loop, which signs nothing. Objects are pinned before; both connect in each round.
#include <penstock/device/host.hpp>
#include <penstock/storage/azure_blob.hpp>
#include "../compare.hpp"
#include "../executor/even_plan.hpp"
#include "bare_loop.hpp"

namespace {
using namespace benchmarks;

void compare_with_a_bare_loop(arguments const& a) {
  storage::azure_blob storage;
  std::string const names[1] = {a.own[1]};
  auto const objects = storage.pin(uri::parse(a.own[0]).value(), names);
  if (!objects) std::fprintf(stderr, "%s\n", objects.error().what()), std::exit(1);
  u64 const total = (*objects)[0].size().count / part * part;
  auto memory = device::host_pages::allocate(bytes{total}).value();
  std::memset(memory.data(), 1, total);
  array_sink sink{memory.data()};
  device::host device;
  auto p = even_plan(total, part, 1, true);
  p.memory = {1, depth + 1, depth, bytes{part}, {}, {}, gibibytes(1)};
  load_options const options;

  comparison table("load from " + a.own[0], static_cast<double>(total) / 1e9, "GB");
  table.add("bare libcurl loop, SAS", [&] {
    if (!bare_loop(a.own[2], {memory.data(), total})) std::fputs("a read failed\n", stderr), std::exit(1);
  });
  table.add("load", [&] { must_load(storage, device, p, *objects, sink, options); }, {.throughput = 0.95, .cpu = 1.1});
  table.run(a);
}
}  // namespace

int main(int argc, char** argv) {
  arguments const a(argc, argv);
  if (a.own.size() != 3) return std::fputs("usage: azure URI OBJECT SAS_URL [--rounds N] [--json FILE]\n", stderr), 2;
  compare_with_a_bare_loop(a);
}
