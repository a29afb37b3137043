// An index: refused, or each tensor has a file below the folder. Then the files and tensors of that checkpoint.
#include <penstock/core/json_writer.hpp>
#include <penstock/format/index.hpp>
#include <penstock/format/weight_files.hpp>
#include <penstock/storage/name.hpp>

#include <algorithm>
#include <functional>

#include "check.hpp"

using namespace penstock;
using namespace fuzz;

namespace {
void check_index(shard_index const& i, std::size_t text) {
  auto const& files = i.files();
  check(i.tensors() > 0 && i.tensors() * 5 <= text, "an index has tensors, and no more than text for them");
  check(std::is_sorted(files.begin(), files.end(), natural_less), "files are in natural order");
  check(std::adjacent_find(files.begin(), files.end()) == files.end(), "files stand once");
  for (auto const& f : files) check(penstock::detail::fault_of_name(f).empty(), "a file stays below its folder");
  std::vector<bool> used(files.size());
  for (u32 t = 0; t < i.tensors(); ++t) {
    check(i.find(i.tensor(t)) == t, "a tensor is found by its name");
    check(i.file(t) < files.size(), "a tensor has a file");
    used[i.file(t)] = true;
  }
  check(std::count(used.begin(), used.end(), false) == 0, "a file has a tensor");
}

void check_printed(shard_index const& i) {
  std::string text;
  {
    penstock::detail::json_object o{text};
    penstock::detail::json_object map{o.key("weight_map")};
    for (u32 t = 0; t < i.tensors(); ++t) map.add(i.tensor(t), i.files()[i.file(t)]);
  }
  auto const again = shard_index::parse(bytes_of(text), "printed");
  check(again && again->files() == i.files() && again->tensors() == i.tensors(), "a printed index is read");
  for (u32 t = 0; t < i.tensors(); ++t)
    check(again->tensor(t) == i.tensor(t) && again->file(t) == i.file(t), "a printed index says the same");
}

void check_files(shard_index const& i) {
  auto listing = i.files();
  std::reverse(listing.begin(), listing.end());
  auto const all = weight_files(listing, &i);
  check(all && *all == i.files(), "the files of the index are the weights");
  auto const last = listing.back();
  auto const counted = weight_files(listing);  // as if there were no index
  if (!counted) check_message(counted.error(), 4000 + 30 * 2000);
  else
    for (auto const& f : *counted)
      check(f == "model.safetensors" || std::find(listing.begin(), listing.end(), f) != listing.end(),
            "files of weights are in the listing");
  listing.pop_back();
  auto const fewer = weight_files(listing, &i);
  check(!fewer && fewer.error().kind() == error_kind::not_found && has(fewer.error().message(), last),
        "a missing file is named");
}

/// Each file has the tensors that the index gives it, and a stale one.
void check_tensors(shard_index const& i) {
  checkpoint c;
  std::vector<shard_header> headers(i.files().size());
  for (auto const& f : i.files()) c.shards.push_back({f, bytes{1}, "v"});
  for (u32 t = 0; t < i.tensors(); ++t)
    headers[i.file(t)].tensors.push_back({std::string{i.tensor(t)}, {}, {}, object_id{i.file(t)}, {}});
  u64 stale = 0;
  if (headers.size() > 1) headers[1].tensors.push_back({headers[0].tensors[0].name, {}, {}, object_id{1}, {}}), ++stale;
  check(collect_tensors(c, headers, &i).has_value(), "an index and its files agree");
  check(c.tensors.size() == i.tensors() && c.ignored == stale, "each tensor comes once, from its file");
  auto const ambiguous = collect_tensors(c, headers);
  check(ambiguous.has_value() == !stale, "without an index, a tensor in two files is refused");
  if (!ambiguous) check_message(ambiguous.error());
  auto const lost = headers[0].tensors[0].name;
  headers[0].tensors.erase(headers[0].tensors.begin());
  auto const missing = collect_tensors(c, std::move(headers), &i);
  check(!missing.has_value(), "a tensor that is promised must be there");
  check_message(missing.error());
}
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(u8 const* data, std::size_t size) {
  auto const i = shard_index::parse(bytes_of(text_of(data, size)), "model.safetensors.index.json");
  if (!i) {
    check_message(i.error());
    return 0;
  }
  check_index(*i, size);
  check_printed(*i);
  check_files(*i);
  check_tensors(*i);
  return 0;
}
