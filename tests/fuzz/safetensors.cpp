// A safetensors header: refused, or its tensors tile the file.
#include <penstock/core/json_writer.hpp>
#include <penstock/format/safetensors.hpp>

#include <set>

#include "check.hpp"

using namespace penstock;
using namespace fuzz;

namespace {
void check_header(shard_header const& h, u64 data, u64 end, std::size_t text) {
  std::set<std::string_view> names, keys;
  u64 at = data;
  for (auto const& t : h.tensors) {
    check(t.where.first.count == at && t.shape.size(t.type) == t.where.size, "tensors tile the data");
    check(names.insert(t.name).second && !has(t.name, {"\0", 1}), "names stand once, without NUL");
    check(t.shard == object_id{7}, "tensors are of the shard that was given");
    at += t.where.size.count;
  }
  check(at <= end, "tensors lie inside the file");
  check(h.tensors.size() * 40 <= text, "a header has no more tensors than text for them");
  for (auto const& [key, value] : h.metadata) check(keys.insert(key).second, "keys of the metadata stand once");
}

std::string printed(shard_header const& h, u64 data) {
  std::string text;
  detail::json_object o{text};
  {
    detail::json_object metadata{o.key("__metadata__")};
    for (auto const& [key, value] : h.metadata) metadata.add(key, value);
  }
  for (auto const& t : h.tensors) {
    detail::json_object fields{o.key(t.name)};
    fields.add("dtype", name_of(t.type));
    fields.key("shape") += to_string(t.shape);
    fields.key("data_offsets") +=
        "[" + std::to_string(t.where.first.count - data) + "," + std::to_string(t.where.end().count - data) + "]";
  }
  return text;
}

void check_same(shard_header const& a, shard_header const& b, u64 shift) {
  check(a.metadata == b.metadata && a.tensors.size() == b.tensors.size(), "a printed header says the same");
  for (std::size_t i = 0; i < a.tensors.size(); ++i) {
    auto const &s = a.tensors[i], &t = b.tensors[i];
    check(s.name == t.name && s.type == t.type && s.shape == t.shape && s.where.size == t.where.size &&
              s.where.first.count + shift == t.where.first.count,
          "a printed header has the same tensors");
  }
}

result<shard_header> parse(std::string_view json, u64 size, header_limits const& limits = {}) {
  auto r = parse_header(bytes_of(json), bytes{size}, object_id{7}, "m.safetensors", limits);
  if (!r) check_message(r.error());
  return r;
}

/// The input is the header alone; its file is as long as the header wants it.
void as_a_header(std::string_view json) {
  u64 const data = 8 + json.size();
  auto const open = parse(json, ~u64{}, {.allow_trailing = true});
  if (!open) return;
  u64 const end = open->tensors.empty() ? data : open->tensors.back().where.end().count;
  check_header(*open, data, end, json.size());
  auto const exact = parse(json, end);
  check(exact.has_value(), "a header is read when its file has just its tensors");
  check_same(*open, *exact, 0);
  check(!parse(json, end - 1, {.allow_trailing = true}), "a file that is too short is refused");
  if (end != ~u64{}) check(!parse(json, end + 1), "a byte behind the last tensor is refused");
  if (!open->tensors.empty())
    check(!parse(json, end, {.tensors = open->tensors.size() - 1}), "the number of tensors has a limit");
  u64 const shift = printed(*exact, data).size() - json.size();
  if (u64 longer = 0; shift < json.size() * 8 && !__builtin_add_overflow(end, shift, &longer)) {
    auto const again = parse(printed(*exact, data), end + shift);
    check(again.has_value(), "a printed header is read");
    check_same(*exact, *again, shift);
  }
}

/// The input is a file.
void as_a_file(std::string_view file) {
  auto const n = header_length(bytes_of(file.substr(0, 8)), bytes{file.size()}, "m.safetensors");
  if (!n) return check_message(n.error());
  check(n->count >= 2 && n->count <= file.size() - 8, "the header lies inside the file");
  auto const h = parse(file.substr(8, n->count), file.size());
  if (!h) return;
  check_header(*h, 8 + n->count, file.size(), n->count);
  check(h->tensors.empty() || h->tensors.back().where.end().count == file.size(), "the last tensor ends the file");
}
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(u8 const* data, std::size_t size) {
  as_a_header(text_of(data, size));
  as_a_file(text_of(data, size));
  return 0;
}
