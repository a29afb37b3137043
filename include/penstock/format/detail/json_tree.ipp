#pragma once
#include <bit>
#include <charconv>
#include <limits>

#include <penstock/format/detail/json.ipp>
#include <penstock/format/detail/json_tree.hpp>
#include <penstock/format/detail/name_table.hpp>

PENSTOCK_BEGIN
namespace detail {
struct json_tree_builder {
  std::string_view file;
  json_tree into{};

  error wrong(std::string_view what) const {
    return {error_kind::config, joined(file, ": ", what, "; get the file again, or correct it")};
  }

  result<void> add(std::string_view key, simdjson::dom::element value) {
    auto const n = static_cast<u32>(into.nodes_.size());
    if (n > json_tree::most) return wrong(joined("expected at most ", json_tree::most, " values, found more"));
    auto& node = into.nodes_.emplace_back();
    node.key_at = into.keep(key);
    node.key_size = static_cast<u32>(key.size());
    node.next = n + 1;
    auto const is = [&](json_kind kind, u64 bits) { return node.kind = kind, node.bits = bits, result<void>{}; };

    std::string_view text;
    bool truth = false;
    u64 natural = 0;
    std::int64_t integer = 0;
    double real = 0;
    simdjson::dom::array items;
    simdjson::dom::object members;
    if (!value.get(text)) return is(json_kind::text, static_cast<u64>(into.keep(text)) << 32 | text.size());
    if (!value.get(truth)) return is(json_kind::boolean, truth);
    if (!value.get(natural)) return is(json_kind::natural, natural);
    if (!value.get(integer)) return is(json_kind::negative, static_cast<u64>(integer));
    if (!value.get(real)) return is(json_kind::real, std::bit_cast<u64>(real));
    auto r = !value.get(items) ? add_items(n, items) : !value.get(members) ? add_members(n, members) : result<void>{};
    into.nodes_[n].next = static_cast<u32>(into.nodes_.size());
    return r;
  }

  result<void> add_items(u32 n, simdjson::dom::array const& items) {
    into.nodes_[n].kind = json_kind::list;
    for (auto const item : items)
      if (auto r = add({}, item); !r) return r;
    return {};
  }

  result<void> add_members(u32 n, simdjson::dom::object const& members) {
    into.nodes_[n].kind = json_kind::object;
    std::vector<std::string_view> keys;
    for (auto const [key, member] : members) keys.push_back(key);
    name_table table{keys.size()};
    if (auto const twice = table.put_all(static_cast<u32>(keys.size()), [&](u32 i) { return keys[i]; }))
      return wrong(joined("expected the key ", detail::shown(keys[*twice]), " once, found a duplicate"));
    for (auto const [key, member] : members)
      if (auto r = add(key, member); !r) return r;
    return {};
  }
};

PENSTOCK_INLINE result<json_tree> json_tree::parse(std::span<std::byte const> json, std::string_view file,
                                                   bytes limit) {
  json_tree_builder builder{file};
  if (json.size() > limit.count)
    return builder.wrong(joined("expected at most ", limit, " bytes, found ", json.size()));
  simdjson::dom::parser parser;
  auto const root = parse_object(parser, json, file, error_kind::config);
  if (!root) return root.error();
  builder.into.nodes_.emplace_back();
  if (auto r = builder.add_members(0, *root); !r) return std::move(r).error();
  builder.into.nodes_[0].next = static_cast<u32>(builder.into.nodes_.size());
  return std::move(builder.into);
}

PENSTOCK_INLINE void json_tree::put(std::string_view key, u64 number) {
  if (nodes_.empty()) nodes_.push_back({0, 0, 1, json_kind::object, 0});
  auto const next = static_cast<u32>(nodes_.size() + 1);
  u32 const at = keep(key);
  nodes_.push_back({at, static_cast<u32>(key.size()), next, json_kind::natural, number});
  nodes_[0].next = next;
}

PENSTOCK_INLINE double json_tree::real(u32 n) const noexcept {
  auto const bits = nodes_[n].bits;
  if (nodes_[n].kind == json_kind::real) return std::bit_cast<double>(bits);
  if (nodes_[n].kind == json_kind::negative) return static_cast<double>(static_cast<std::int64_t>(bits));
  return static_cast<double>(bits);
}

PENSTOCK_INLINE std::string json_tree::shown(u32 n) const {
  switch (kind(n)) {
    case json_kind::null: return "null";
    case json_kind::boolean: return natural(n) ? "true" : "false";
    case json_kind::natural: return std::to_string(natural(n));
    case json_kind::negative: return std::to_string(static_cast<std::int64_t>(natural(n)));
    case json_kind::real: {
      char text[32];
      auto const r = std::to_chars(text, text + sizeof text, real(n));
      std::string shown{text, r.ptr};
      return shown.find_first_of(".en") == shown.npos ? shown + ".0" : shown;
    }
    case json_kind::text: return detail::shown(text(n));
    case json_kind::list: return "a list";
    default: return "an object";
  }
}

PENSTOCK_INLINE std::optional<u32> json_tree::find(std::string_view path, u32 in) const {
  if (in >= nodes_.size() || kind(in) != json_kind::object) return std::nullopt;
  std::optional<u32> nested;
  for (u32 i = in + 1; i < nodes_[in].next; i = nodes_[i].next) {
    auto const k = key(i);
    if (k == path) {
      if (kind(i) != json_kind::null) return i;
    } else if (!nested && path.size() > k.size() && path[k.size()] == '.' && path.starts_with(k)) {
      nested = find(path.substr(k.size() + 1), i);
    }
  }
  return nested;
}

PENSTOCK_INLINE u64 json_tree::hash(u32 n) const {
  if (n >= nodes_.size()) return 0;
  auto const k = kind(n);
  u64 content = nodes_[n].bits;
  if (k == json_kind::text) content = hash_of(text(n));
  if (k == json_kind::list) {
    content = 0;
    for_each(n, [&](u32 i) { content = hash_of(content, hash(i)); });
  }
  if (k == json_kind::object) {
    content = 0;  // a sum: the order of members is not content
    for_each(n, [&](u32 i) { content += kind(i) == json_kind::null ? 0 : hash_of(hash_of(key(i)), hash(i)); });
  }
  return hash_of(content, static_cast<u64>(k));
}
}  // namespace detail
PENSTOCK_END
