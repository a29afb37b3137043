#pragma once
#include <algorithm>
#include <numeric>

#include <penstock/format/detail/json.ipp>
#include <penstock/format/index.hpp>

PENSTOCK_BEGIN
namespace detail {
/// Why a name from an index may not be joined to the checkpoint's folder. @returns empty: it may
///
/// Also `a/../b` and `./a` are refused, which stay inside: the name is an object's key, and keys are not normalised.
PENSTOCK_INLINE std::string_view unsafe_path(std::string_view name) {
  if (name.empty()) return "it is empty";
  if (name.front() == '/') return "it is absolute";
  for (char const c : name)
    if (static_cast<u8>(c) < 0x20 || c == 0x7f) return "it has a control character";
  if (name.find('\\') != name.npos) return "it has a backslash";
  if (auto const colon = name.find(':'); colon < name.find('/')) return "it begins with a scheme or a drive";
  for (std::size_t at = 0; at <= name.size();) {
    auto const end = std::min(name.find('/', at), name.size());
    auto const part = name.substr(at, end - at);
    if (part == "..") return "it leaves its folder";
    if (part.empty() || part == ".") return "it has an empty part or a dot for one";
    if (part.size() > 255) return "a part of it is longer than 255 bytes";
    at = end + 1;
  }
  return {};
}
}  // namespace detail

/// Reads one index, and words its errors.
struct index_reader {
  std::string_view file;
  shard_index into{};

  error wrong(std::string_view what) const {
    return {error_kind::config, detail::joined(file, ": ", what, "; get the file again")};
  }
  result<void> read(simdjson::dom::object const& map);
  void sort_files();
};

PENSTOCK_INLINE result<void> index_reader::read(simdjson::dom::object const& map) {
  using detail::joined, detail::shown;
  u64 const count = detail::members_of(map);
  if (!count) return wrong("expected tensors in weight_map, found none");
  into.rows_.reserve(static_cast<std::size_t>(count));
  detail::name_table files{static_cast<std::size_t>(count)};
  auto const file_of = [&](u32 i) -> std::string_view { return into.files_[i]; };
  u32 last = 0;
  for (auto const [name, value] : map) {
    std::string_view path;
    if (name.find('\0') != name.npos) return wrong(joined("expected names without NUL, found ", shown(name)));
    if (value.get(path))
      return wrong(joined("expected the name of a file for ", shown(name), ", found ", detail::kind_of(value)));
    if (into.files_.empty() || into.files_[last] != path) {  // most tensors are in the file of the one before
      if (auto const why = detail::unsafe_path(path); !why.empty())
        return wrong(joined("expected a file below the checkpoint's folder for ", shown(name), ", found ",
                            shown(path, 300), ": ", why));
      auto const fresh = static_cast<u32>(into.files_.size());
      last = files.put(path, fresh, file_of).value_or(fresh);
      if (last == fresh) into.files_.emplace_back(path);
    }
    into.rows_.push_back({static_cast<u32>(into.text_.size()), static_cast<u32>(name.size()), last});
    into.text_ += name;
  }
  into.table_ = detail::name_table{into.rows_.size()};
  auto const name_of = [&](u32 i) { return into.tensor(i); };
  if (auto const twice = into.table_.put_all(static_cast<u32>(count), name_of))
    return wrong(joined("expected each tensor once in weight_map, found a duplicate: ", shown(into.tensor(*twice))));
  sort_files();
  return {};
}

PENSTOCK_INLINE void index_reader::sort_files() {
  std::vector<u32> order(into.files_.size()), place(into.files_.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](u32 a, u32 b) { return natural_less(into.files_[a], into.files_[b]); });
  std::vector<std::string> sorted;
  sorted.reserve(order.size());
  for (u32 i = 0; i < order.size(); ++i) {
    place[order[i]] = i;
    sorted.push_back(std::move(into.files_[order[i]]));
  }
  into.files_.swap(sorted);
  for (auto& row : into.rows_) row.file = place[row.file];
}

PENSTOCK_INLINE result<shard_index> shard_index::parse(std::span<std::byte const> json, std::string_view file) {
  index_reader reader{file};
  if (json.size() > most.count)
    return reader.wrong(detail::joined("expected an index of at most ", most, " bytes, found ", json.size()));
  simdjson::dom::parser parser;
  auto const root = detail::parse_object(parser, json, file, error_kind::config);
  if (!root) return root.error();
  std::optional<simdjson::dom::element> map;
  for (auto const [key, value] : *root) {
    if (key != "weight_map") continue;
    if (map) return reader.wrong("expected one weight_map, found a duplicate");
    map = value;
  }
  if (!map) return reader.wrong("expected a weight_map, found none");
  simdjson::dom::object names;
  if (map->get(names))
    return reader.wrong(detail::joined("expected weight_map to be an object, found ", detail::kind_of(*map)));
  if (auto r = reader.read(names); !r) return std::move(r).error();
  return std::move(reader.into);
}

namespace detail {
/// Without an index, no two shards may hold the same name: of the tensors [begin, end).
PENSTOCK_INLINE result<void> check_unique(checkpoint const& c, std::size_t begin, std::size_t end) {
  name_table names{end - begin};
  auto const name_of = [&](u32 i) -> std::string_view { return c.tensors[begin + i].name; };
  auto const twice = names.put_all(static_cast<u32>(end - begin), name_of);
  if (!twice) return {};
  auto const& second = c.tensors[begin + *twice];
  auto const& first = c.tensors[begin + *names.find(second.name, name_of)];
  error e{error_kind::format,
          joined("tensor ", shown(second.name), ": expected it in one file, found it in ",
                 c.shards[index_of(first.shard)].name, " and in ", c.shards[index_of(second.shard)].name,
                 "; remove one of them, or add the index that says which one counts")};
  e.where().tensor = shown(second.name);
  return e;
}
}  // namespace detail

PENSTOCK_INLINE result<void> collect_tensors(checkpoint& into, std::vector<shard_header> headers,
                                             shard_index const* index) {
  into.tensors.clear();
  into.ignored = 0;
  std::size_t total = 0;
  for (auto const& h : headers) total += h.tensors.size();
  into.tensors.reserve(total);
  std::vector<bool> seen(index ? index->tensors() : 0);
  for (std::size_t i = 0; i < headers.size(); ++i) {
    for (auto& t : headers[i].tensors) {
      if (index) {
        auto const entry = index->find(t.name);
        if (!entry || index->files()[index->file(*entry)] != into.shards[i].name) {
          ++into.ignored;
          continue;
        }
        seen[*entry] = true;
      }
      into.tensors.push_back(std::move(t));
    }
    headers[i] = {};
  }
  if (!index) {
    auto const rank_of = [&](std::size_t tensor) { return into.shards[index_of(into.tensors[tensor].shard)].rank; };
    for (std::size_t begin = 0, end = 0; begin < into.tensors.size(); begin = end) {  // each rank has all names
      while (end < into.tensors.size() && rank_of(end) == rank_of(begin)) ++end;
      if (auto r = detail::check_unique(into, begin, end); !r) return r;
    }
    return {};
  }
  auto const missing = static_cast<u64>(std::count(seen.begin(), seen.end(), false));
  if (!missing) return {};
  auto const first = static_cast<u32>(std::find(seen.begin(), seen.end(), false) - seen.begin());
  auto const name = detail::shown(index->tensor(first));
  error e{error_kind::format,
          detail::joined("tensor ", name, ": expected it in ", index->files()[index->file(first)],
                         ", as the index says, found no such tensor there",
                         missing > 1 ? detail::joined(" (and ", missing - 1, " more like it)") : std::string{},
                         "; get that file and the index again")};
  e.where().tensor = name;
  return e;
}
PENSTOCK_END
