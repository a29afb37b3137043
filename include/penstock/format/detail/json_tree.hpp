#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <penstock/core/hash.hpp>
#include <penstock/core/result.hpp>
#include <penstock/core/separate.hpp>

PENSTOCK_BEGIN
namespace detail {
enum class json_kind : u8 { null, boolean, natural, negative, real, text, list, object };

/// A JSON object as a plain value. Nodes lie in the order of the text; node 0 is the object itself.
class json_tree {
 public:
  /// The most values that a document may have.
  static constexpr u32 most = 1'000'000;

  json_tree() = default;
  /// @errors config: no JSON object, a key twice in one object, longer than `limit`, too many values
  static result<json_tree> parse(std::span<std::byte const> json, std::string_view file, bytes limit);
  /// Appends a member to the outermost object.
  void put(std::string_view key, u64 number);

  [[nodiscard]] bool empty() const noexcept { return nodes_.size() < 2; }
  [[nodiscard]] json_kind kind(u32 n) const noexcept { return nodes_[n].kind; }
  [[nodiscard]] std::string_view key(u32 n) const noexcept { return at(nodes_[n].key_at, nodes_[n].key_size); }
  /// Of a natural number, of a boolean (0 or 1).
  [[nodiscard]] u64 natural(u32 n) const noexcept { return nodes_[n].bits; }
  /// Of any number.
  [[nodiscard]] double real(u32 n) const noexcept;
  [[nodiscard]] std::string_view text(u32 n) const noexcept {
    return at(static_cast<u32>(nodes_[n].bits >> 32), static_cast<u32>(nodes_[n].bits));
  }
  /// As JSON writes it; of objects and lists only what they are.
  [[nodiscard]] std::string shown(u32 n) const;

  /// Calls `f(child)` for each child of an object or list; a child's number is a node's.
  template <class F>
  void for_each(u32 n, F&& f) const {
    if (n < nodes_.size())
      for (u32 i = n + 1; i < nodes_[n].next; i = nodes_[i].next) f(i);
  }
  /// The value at a dotted path below `in`. A key that has the dots itself goes first; null counts as absent.
  [[nodiscard]] std::optional<u32> find(std::string_view path, u32 in = 0) const;
  /// Of the content: spaces, the order of keys and members that are null do not count. The same on every host.
  [[nodiscard]] u64 hash(u32 n = 0) const;

 private:
  struct node {
    u32 key_at = 0, key_size = 0;  // in text_
    u32 next = 0;                  // the node after this one and all that is in it
    json_kind kind = json_kind::null;
    u64 bits = 0;
  };
  friend struct json_tree_builder;

  std::string_view at(u32 first, u32 size) const noexcept { return std::string_view{text_}.substr(first, size); }
  u32 keep(std::string_view text) {
    auto const first = static_cast<u32>(text_.size());
    text_ += text;
    return first;
  }

  std::string text_;
  std::vector<node> nodes_;
};
}  // namespace detail
PENSTOCK_END

#ifndef PENSTOCK_SEPARATE_COMPILATION
#  include <penstock/format/detail/json_tree.ipp>
#endif
