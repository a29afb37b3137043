#pragma once
#include <algorithm>
#include <utility>

#include <penstock/format/detail/message.hpp>
#include <penstock/format/detail/pattern.hpp>

PENSTOCK_BEGIN
namespace detail {
/// Reads an expression by recursive descent, from its end: each part is made knowing the state that follows it.
/// @source Thompson: "Regular expression search algorithm"
class pattern_parser {
 public:
  explicit pattern_parser(std::string_view text) : text_(text) {}

  result<pattern> run() {
    if (text_.size() > pattern::most) return wrong("at most 1000 characters", std::to_string(text_.size()), 0);
    auto tree = alternatives();
    if (failed_) return *std::move(failed_);
    if (at_ != text_.size()) return wrong("a balanced expression", shown(text_.substr(at_)), at_);
    made_.first_ = build(tree, add({pattern::state::end, 0, 0, 0}));
    return std::move(made_);
  }

 private:
  using state = pattern::state;
  struct node {
    enum kind : u8 { set, start, finish, row, choice, repeat } what = row;
    u32 number = 0;                   // of a set
    bool none = false, many = false;  // of a repetition
    std::vector<node> parts{};
  };

  error wrong(std::string_view expected, std::string_view found, std::size_t at) const {
    return {error_kind::config, joined("expected ", expected, " at character ", at, " of the expression ", shown(text_),
                                       ", found ", found)};
  }
  void fail(std::string_view expected) {
    if (!failed_) failed_ = wrong(expected, more() ? shown(text_.substr(at_)) : "its end", at_);
    at_ = text_.size();
  }
  bool more() const { return at_ < text_.size(); }
  bool skip(std::string_view s) {
    if (!text_.substr(at_).starts_with(s)) return false;
    return at_ += s.size(), true;
  }
  u32 add(state s) { return made_.states_.push_back(s), static_cast<u32>(made_.states_.size() - 1); }
  node leaf(pattern::characters const& c) {
    made_.sets_.push_back(c);
    return {node::set, static_cast<u32>(made_.sets_.size() - 1), false, false, {}};
  }

  node alternatives() {
    node all{node::choice, 0, false, false, {}};
    do all.parts.push_back(row());
    while (skip("|"));
    return all;
  }
  node row() {
    node all{node::row, 0, false, false, {}};
    while (more() && text_[at_] != '|' && text_[at_] != ')') {
      auto one = atom();
      while (more() && (text_[at_] == '*' || text_[at_] == '+' || text_[at_] == '?')) {
        char const c = text_[at_++];
        skip("?");  // lazy: the same beginnings match
        node again{node::repeat, 0, c != '+', c != '?', {}};
        again.parts.push_back(std::move(one));
        one = std::move(again);
      }
      all.parts.push_back(std::move(one));
    }
    return all;
  }
  node atom() {
    if (skip("^")) return {node::start, 0, false, false, {}};
    if (skip("$")) return {node::finish, 0, false, false, {}};
    if (skip("(")) {
      if (!skip("?:") && more() && text_[at_] == '?') return fail("a group without extensions"), node{};
      auto inside = alternatives();
      if (!skip(")")) fail("a closing parenthesis");
      return inside;
    }
    if (skip("[")) return leaf(set());
    if (std::string_view{"*+?{}"}.find(text_[at_]) != std::string_view::npos)
      return fail("a character, a set or a group, and no count in braces"), node{};
    if (skip(".")) return leaf(~pattern::characters{}.set('\n'));
    return leaf(one_character());
  }
  /// One character, as it is or behind a backslash.
  pattern::characters one_character() {
    pattern::characters c;
    if (!skip("\\")) return c.set(static_cast<u8>(text_[at_++]));
    if (!more()) return fail("a character behind the backslash"), c;
    char const kind = text_[at_++];
    bool const letter = (kind >= 'a' && kind <= 'z') || (kind >= 'A' && kind <= 'Z') || (kind >= '0' && kind <= '9');
    if (!letter) return c.set(static_cast<u8>(kind));
    auto const range = [&](char from, char to) {
      for (int i = from; i <= to; ++i) c.set(static_cast<std::size_t>(i));
    };
    char const lower = static_cast<char>(kind | 0x20);
    if (lower == 'd' || lower == 'w') range('0', '9');
    if (lower == 'w') range('a', 'z'), range('A', 'Z'), c.set('_');
    if (lower == 's') range('\t', '\r'), c.set(' ');
    if (c.none()) --at_, fail("one of \\d, \\w, \\s, their opposites, or a sign");
    return kind == lower ? c : ~c;
  }
  pattern::characters set() {
    pattern::characters all;
    bool const opposite = skip("^");
    for (bool first = true; first || !skip("]"); first = false) {
      if (!more()) return fail("the end of a set, ]"), all;
      char const from = text_[at_];
      auto one = one_character();
      if (from != '\\' && at_ + 1 < text_.size() && text_[at_] == '-' && text_[at_ + 1] != ']') {
        char const to = text_[++at_];
        if (static_cast<u8>(to) < static_cast<u8>(from) || to == '\\') return fail("a range upwards"), all;
        for (unsigned i = static_cast<u8>(from); i <= static_cast<u8>(to); ++i) one.set(i);
        ++at_;
      }
      all |= one;
    }
    return opposite ? ~all : all;
  }

  /// The state with which a node begins that `next` follows.
  u32 build(node const& n, u32 next) {
    switch (n.what) {
      case node::set: return add({state::one_of, next, 0, n.number});
      case node::start: return add({state::at_start, next, 0, 0});
      case node::finish: return add({state::at_end, next, 0, 0});
      case node::row:
        for (auto part = n.parts.rbegin(); part != n.parts.rend(); ++part) next = build(*part, next);
        return next;
      case node::choice: {
        u32 all = build(n.parts[0], next);
        for (std::size_t i = 1; i < n.parts.size(); ++i) all = add({state::either, all, build(n.parts[i], next), 0});
        return all;
      }
      case node::repeat: {
        if (!n.many) return add({state::either, build(n.parts[0], next), next, 0});
        u32 const loop = add({state::either, 0, next, 0}), inside = build(n.parts[0], loop);
        made_.states_[loop].next = inside;
        return n.none ? loop : inside;
      }
    }
    return next;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  pattern made_;
  std::optional<error> failed_;
};

PENSTOCK_INLINE result<pattern> pattern::parse(std::string_view text) { return pattern_parser{text}.run(); }

PENSTOCK_INLINE bool pattern::matches(std::string_view name) const {
  std::vector<u32> now, open{first_};
  std::vector<std::size_t> seen(states_.size(), ~std::size_t{});  // at which character a state was reached
  for (std::size_t at = 0;; ++at) {
    now.clear();
    while (!open.empty()) {
      auto const i = open.back();
      open.pop_back();
      if (std::exchange(seen[i], at) == at) continue;
      auto const& s = states_[i];
      if (s.what == state::end) return true;
      if (s.what == state::one_of) now.push_back(i);
      else if (s.what == state::either) open.push_back(s.next), open.push_back(s.other);
      else if (s.what == state::at_start ? at == 0 : at == name.size()) open.push_back(s.next);
    }
    if (at == name.size() || now.empty()) return false;
    for (auto const i : now)
      if (sets_[states_[i].set].test(static_cast<u8>(name[at]))) open.push_back(states_[i].next);
  }
}
}  // namespace detail
PENSTOCK_END
