#pragma once
#include <algorithm>
#include <optional>

#include <penstock/format/detail/json.ipp>
#include <penstock/format/detail/name_table.hpp>
#include <penstock/format/safetensors.hpp>

PENSTOCK_BEGIN
namespace detail {
/// Reads the entries of one header, and words its errors.
class header_reader {
 public:
  header_reader(bytes header, bytes size, object_id shard, std::string_view file, header_limits const& limits)
      : data_(bytes{8} + header), size_(size), shard_(shard), file_(file), limits_(limits) {}

  result<void> read(simdjson::dom::object const& entries, shard_header& into);
  result<void> sort_and_check(std::vector<checkpoint_tensor>& tensors) const;

 private:
  result<void> read_tensor(std::string_view name, simdjson::dom::element value, checkpoint_tensor& t);
  result<void> read_dtype(std::string_view name, simdjson::dom::element value, dtype& type);
  result<void> read_shape(std::string_view name, simdjson::dom::element value, penstock::shape& shape) const;
  result<void> read_offsets(std::string_view name, simdjson::dom::element value, u64 (&offsets)[2]) const;
  result<void> place(std::string_view name, u64 const (&offsets)[2], checkpoint_tensor& t) const;
  result<void> read_metadata(simdjson::dom::element value, shard_header& into) const;

  error wrong(std::string_view what) const {
    return {error_kind::format, joined(file_, ": ", what, "; write the file anew or get it again")};
  }
  error wrong(std::string_view tensor, std::string_view what) const {
    error e = wrong(joined("tensor ", shown(tensor), ": ", what));
    e.where().tensor = shown(tensor);
    return e;
  }
  /// Where a tensor begins in the data section, as headers count.
  u64 offset(checkpoint_tensor const& t) const noexcept { return (t.where.first - data_).count; }

  bytes data_;  // where the data section begins
  bytes size_;
  object_id shard_;
  std::string_view file_;
  header_limits const& limits_;
  dtype last_ = dtype::bf16;
};

/// Is there a `-0` outside of strings? The parser takes it for 0, the format does not.
PENSTOCK_INLINE bool has_negative_zero(std::string_view json) {
  if (json.find("-0") == json.npos) return false;
  bool inside = false;
  for (std::size_t i = 0; i + 2 < json.size(); ++i) {
    char const c = json[i];
    if (inside && c == '\\') ++i;
    else if (c == '"') inside = !inside;
    else if (!inside && c == '-' && json[i + 1] == '0' && std::string_view{".eE"}.find(json[i + 2]) == json.npos)
      return true;
  }
  return false;
}

PENSTOCK_INLINE result<void> header_reader::read(simdjson::dom::object const& entries, shard_header& into) {
  u64 const count = members_of(entries);
  if (count > limits_.tensors + 1)
    return wrong(joined("expected at most ", limits_.tensors, " tensors (header_limits::tensors), found ", count));
  into.tensors.reserve(static_cast<std::size_t>(count));
  bool metadata = false;
  for (auto const [name, value] : entries) {
    if (name == "__metadata__") {
      if (std::exchange(metadata, true)) return wrong("expected one __metadata__, found a duplicate");
      if (auto r = read_metadata(value, into); !r) return r;
      continue;
    }
    if (auto r = read_tensor(name, value, into.tensors.emplace_back()); !r) return r;
  }
  if (into.tensors.size() > limits_.tensors)
    return wrong(joined("expected at most ", limits_.tensors, " tensors (header_limits::tensors), found ", count));
  auto const name_of = [&](u32 i) -> std::string_view { return into.tensors[i].name; };
  name_table names{into.tensors.size()};
  if (auto const twice = names.put_all(static_cast<u32>(into.tensors.size()), name_of))
    return wrong(name_of(*twice), "expected a name once, found a duplicate");
  return {};
}

PENSTOCK_INLINE result<void> header_reader::read_tensor(std::string_view name, simdjson::dom::element value,
                                                        checkpoint_tensor& t) {
  if (name.find('\0') != name.npos) return wrong(name, "expected a name without NUL");
  simdjson::dom::object fields;
  if (value.get(fields))
    return wrong(name, joined("expected an object with dtype, shape and data_offsets, found ", kind_of(value)));
  constexpr std::string_view known[] = {"dtype", "shape", "data_offsets"};
  unsigned seen = 0;
  u64 offsets[2] = {};
  for (auto const [field, given] : fields) {
    unsigned const which = field == known[0] ? 0 : field == known[1] ? 1 : field == known[2] ? 2 : 3;
    if (which == 3) {
      if (limits_.allow_unknown_fields) continue;
      return wrong(name, joined("expected the fields dtype, shape and data_offsets, found ", shown(field),
                                " (header_limits::allow_unknown_fields reads such files)"));
    }
    if (seen >> which & 1) return wrong(name, joined("expected the field ", known[which], " once, found a duplicate"));
    seen |= 1u << which;
    auto r = which == 0   ? read_dtype(name, given, t.type)
             : which == 1 ? read_shape(name, given, t.shape)
                          : read_offsets(name, given, offsets);
    if (!r) return r;
  }
  for (unsigned i = 0; i < 3; ++i)
    if (!(seen >> i & 1)) return wrong(name, joined("expected the field ", known[i], ", found none"));
  t.name = name;
  t.shard = shard_;
  return place(name, offsets, t);
}

PENSTOCK_INLINE result<void> header_reader::read_dtype(std::string_view name, simdjson::dom::element value,
                                                       dtype& type) {
  std::string_view text;
  if (value.get(text)) return wrong(name, joined("expected the name of a dtype, found ", kind_of(value)));
  if (text != name_of(last_)) {  // most tensors of a file have the dtype of the one before
    dtype const found = dtype_named(text);
    if (found == dtype::any_float) {
      std::string list;
      for (unsigned i = 1; i < dtype_rows.size(); ++i) list += joined(i > 1 ? ", " : "", dtype_rows[i].name);
      return wrong(name, joined("expected a dtype of safetensors (", list, "), found ", shown(text)));
    }
    last_ = found;
  }
  type = last_;
  return {};
}

PENSTOCK_INLINE result<void> header_reader::read_shape(std::string_view name, simdjson::dom::element value,
                                                       penstock::shape& shape) const {
  simdjson::dom::array extents;
  if (value.get(extents)) return wrong(name, joined("expected shape to be an array, found ", kind_of(value)));
  for (auto const extent : extents) {
    if (shape.rank() == shape::most)
      return wrong(name, joined("expected at most ", shape::most, " dimensions (the limit of this library), found ",
                                extents.size()));
    u64 n = 0;
    if (extent.get(n))
      return wrong(name, joined("expected the extents of its shape to be non-negative integers, found ",
                                kind_of(extent), " that is none"));
    shape.push_back(n);
  }
  return {};
}

PENSTOCK_INLINE result<void> header_reader::read_offsets(std::string_view name, simdjson::dom::element value,
                                                         u64 (&offsets)[2]) const {
  simdjson::dom::array pair;
  if (value.get(pair)) return wrong(name, joined("expected data_offsets to be an array, found ", kind_of(value)));
  unsigned n = 0;
  for (auto const offset : pair) {
    if (n == 2) break;
    if (offset.get(offsets[n++]))
      return wrong(
          name, joined("expected data_offsets to be non-negative integers, found ", kind_of(offset), " that is none"));
  }
  if (pair.size() != 2) return wrong(name, joined("expected two data_offsets, found ", pair.size()));
  return {};
}

/// Shape, dtype and offsets agree with each other and with the file?
PENSTOCK_INLINE result<void> header_reader::place(std::string_view name, u64 const (&offsets)[2],
                                                  checkpoint_tensor& t) const {
  auto const [begin, end] = offsets;
  if (begin > end)
    return wrong(name,
                 joined("expected data_offsets [begin, end], found [", begin, ", ", end, "], which is backwards"));
  auto const need = t.shape.size(t.type);
  if (!need || need->count != end - begin) {
    auto const elements = t.shape.elements();
    std::string const what = joined(name_of(t.type), " of shape ", to_string(t.shape));
    if (!need && elements && (*elements * bits_of(t.type)) % 8 && *elements < ~u64{} / 64)
      return wrong(name, joined("expected whole bytes, found ", *elements * bits_of(t.type), " bits (", what, ")"));
    if (!need) return wrong(name, joined("expected a size that fits 64 bits, found ", what));
    return wrong(name, joined("expected ", need->count, " bytes (", what, "), found ", end - begin, " (data_offsets [",
                              begin, ", ", end, "])"));
  }
  if (u64 last = 0; __builtin_add_overflow(data_.count, end, &last))
    return wrong(
        name, joined("expected data_offsets inside the file, found [", begin, ", ", end, "], which no file reaches"));
  t.where = {data_ + bytes{begin}, *need};
  return {};
}

PENSTOCK_INLINE result<void> header_reader::read_metadata(simdjson::dom::element value, shard_header& into) const {
  if (value.is_null()) return {};
  simdjson::dom::object members;
  if (value.get(members)) return wrong(joined("expected __metadata__ to be an object, found ", kind_of(value)));
  name_table keys{static_cast<std::size_t>(members_of(members))};
  for (auto const [key, member] : members) {
    std::string_view text;
    if (key.find('\0') != key.npos)
      return wrong(joined("expected a key without NUL in __metadata__, found ", shown(key)));
    if (member.get(text))
      return wrong(joined("expected strings in __metadata__, found ", kind_of(member), " at ", shown(key)));
    auto const number = static_cast<u32>(into.metadata.size());
    auto const key_of = [&](u32 i) -> std::string_view { return into.metadata[i].first; };
    if (keys.put(key, number, key_of))
      return wrong(joined("__metadata__: expected ", shown(key), " once, found a duplicate"));
    into.metadata.emplace_back(key, text);
  }
  return {};
}

/// Sorts by (begin, end), ties as in the file; then the tensors must tile the data section.
PENSTOCK_INLINE result<void> header_reader::sort_and_check(std::vector<checkpoint_tensor>& tensors) const {
  auto const earlier = [](checkpoint_tensor const& a, checkpoint_tensor const& b) { return a.where < b.where; };
  if (!std::is_sorted(tensors.begin(), tensors.end(), earlier)) {
    struct entry {
      byte_range where;
      std::size_t at;
      bool operator<(entry const& o) const noexcept { return where != o.where ? where < o.where : at < o.at; }
    };
    std::vector<entry> order;
    order.reserve(tensors.size());
    for (auto const& t : tensors) order.push_back({t.where, order.size()});
    std::sort(order.begin(), order.end());
    for (std::size_t i = 0; i < order.size(); ++i) {  // in place, one cycle after the other
      if (order[i].at == i) continue;
      auto kept = std::move(tensors[i]);
      std::size_t to = i;
      for (std::size_t from; (from = std::exchange(order[to].at, to)) != i; to = from)
        tensors[to] = std::move(tensors[from]);
      tensors[to] = std::move(kept);
    }
  }
  u64 at = 0;
  checkpoint_tensor const* before = nullptr;
  for (auto const& t : tensors) {
    u64 const begin = offset(t);
    if (begin < at)
      return wrong(t.name, joined("expected it to begin at offset ", at, ", where ", shown(before->name),
                                  " ends, found ", begin, ": the two overlap"));
    if (begin > at)
      return wrong(t.name, joined("expected it to begin at offset ", at, ", found ", begin, ": ",
                                  counted(begin - at, "byte"), " before it not described by the header"));
    at = begin + t.where.size.count;
    before = &t;
  }
  u64 const room = (size_ - data_).count;
  if (at > room)
    return wrong(tensors.back().name,
                 joined("expected a file of ", data_ + bytes{at}, " by its header, where this tensor ends, found ",
                        size_, ": the file is truncated, or its header lies"));
  if (at < room && !limits_.allow_trailing)
    return wrong(joined("expected the data to end with the last tensor, ",
                        before ? shown(before->name) : std::string{"but the header names none"}, ", found ",
                        counted(room - at, "byte"), " after it (header_limits::allow_trailing reads such files)"));
  return {};
}
}  // namespace detail

PENSTOCK_INLINE result<bytes> header_length(std::span<std::byte const> first, bytes size, std::string_view file,
                                            header_limits const& limits) {
  auto const wrong = [&](auto const&... what) {
    return error{error_kind::format, detail::joined(file, ": ", what...)};
  };
  if (first.size() < 8 || size < bytes{8})
    return wrong("expected at least 8 bytes, the length of a safetensors header, found a file of ",
                 std::min<u64>(size.count, first.size() < 8 ? first.size() : size.count), "; get the file again");
  u64 n = 0;
  for (unsigned i = 0; i < 8; ++i) n |= static_cast<u64>(first[i]) << (8 * i);
  std::string_view const text{reinterpret_cast<char const*>(first.data()), 8};
  if (std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; }))
    return wrong("expected a safetensors file, found text that begins with ", detail::shown(text), "; ",
                 detail::advice_on(text));
  if (n < 2) return wrong("expected a header of at least 2 bytes, found a length of ", n, "; get the file again");
  if (n > limits.header.count)
    return wrong("expected a header of at most ", limits.header, " bytes, found a length of ", n,
                 "; raise header_limits::header if this is a safetensors file that you trust");
  if (n > size.count - 8)
    return wrong("expected the header inside the file, found a length of ", n, " in a file of ", size,
                 " bytes: truncated, or no safetensors file; get the file again");
  return bytes{n};
}

PENSTOCK_INLINE result<shard_header> parse_header(std::span<std::byte const> json, bytes size, object_id shard,
                                                  std::string_view file, header_limits const& limits) {
  if (json.size() > limits.header.count || size < bytes{8} || json.size() > size.count - 8)
    return error{error_kind::format, detail::joined(file, ": expected a header of at most ", limits.header,
                                                    " bytes inside the file, found ", json.size(), " in a file of ",
                                                    size, "; get the file again")};
  simdjson::dom::parser parser;
  auto entries = detail::parse_object(parser, json, file, error_kind::format);
  if (!entries) return std::move(entries).error();
  shard_header header;
  detail::header_reader reader{bytes{json.size()}, size, shard, file, limits};
  if (auto r = reader.read(*entries, header); !r) return std::move(r).error();
  if (detail::has_negative_zero({reinterpret_cast<char const*>(json.data()), json.size()}))
    return error{error_kind::format, detail::joined(file, ": expected non-negative integers in the header, found -0; ",
                                                    "write the file anew or get it again")};
  if (auto r = reader.sort_and_check(header.tensors); !r) return std::move(r).error();
  return header;
}
PENSTOCK_END
