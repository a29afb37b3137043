#pragma once
#include <string>
#include <vector>

#include <penstock/core/result.hpp>
#include <penstock/plan/plan.hpp>

PENSTOCK_BEGIN
namespace detail {
/// What the executor derives from a plan once, in O(copies): see `prepare`.
struct prepared {
  static constexpr u8 has_keeps = 1, has_steps = 2;
  std::vector<u8> traits;             ///< of each read: has_keeps, has_steps
  std::vector<group_id> opens;        ///< groups by the read in which their first keep is ...
  std::vector<u32> opens_of{0};       ///< ... those of read i: opens[opens_of[i], opens_of[i + 1])
  std::vector<u32> layer_parameters;  ///< how many parameters each layer has
  std::vector<u32> layer_of;          ///< of each parameter: close together, where a plan's parameters are far apart
  std::vector<u32> pieces;            ///< of each parameter
  bytes kept_peak;                    ///< of kept bytes, when reads finish one after the other
  bytes read;                         ///< of all reads of objects
  u32 largest = 0;                    ///< read
};

/// Checks a whole plan before anything is asked or read.
///
/// Every copy lies inside its read and its destination; parameters have the pieces that they state; a step stands after
/// all keeps of its group; groups close. So the lanes compute no bounds, and the load cannot wait for itself.
class plan_checker {
 public:
  explicit plan_checker(plan const& p)
      : p_(p), keeps_(p.groups.size()), steps_(p.groups.size()), found_(p.parameters.size()) {}

  /// @errors plan
  result<prepared> run() {
    if (auto r = parameters(); !r) return std::move(r.error());
    out_.traits.reserve(p_.reads.size());
    out_.opens_of.reserve(p_.reads.size() + 1);
    for (u32 i = 0; i < p_.reads.size(); ++i)
      if (auto r = read(i); !r) return std::move(r.error());
    if (auto r = totals(); !r) return std::move(r.error());
    return std::move(out_);
  }

 private:
  using what = plan_copy::what;

  static error bad(std::string message) { return error{error_kind::plan, std::move(message)}; }
  static error bad_read(u32 i, std::string message) { return bad("read " + std::to_string(i) + ": " + message); }
  static std::string number(u64 n) { return std::to_string(n); }

  result<void> parameters() {
    out_.layer_parameters.assign(p_.layers, 0);
    out_.layer_of.reserve(p_.parameters.size());
    out_.pieces.reserve(p_.parameters.size());
    sizes_.reserve(p_.parameters.size());
    for (u32 i = 0; i < p_.parameters.size(); ++i) {
      auto const& q = p_.parameters[i];
      if (index_of(q.id) != i)
        return bad("expected parameter " + q.name + " to have number " + number(i) + ", found " +
                   number(index_of(q.id)));
      if (index_of(q.layer) >= p_.layers)
        return bad("expected the layer of parameter " + q.name + " below " + number(p_.layers) + ", found " +
                   number(index_of(q.layer)));
      ++out_.layer_parameters[index_of(q.layer)];
      out_.layer_of.push_back(index_of(q.layer));
      out_.pieces.push_back(q.pieces);
      sizes_.push_back(q.size.count);
    }
    return {};
  }

  result<void> read(u32 i) {
    auto const& r = p_.reads[i];
    if (r.copies > r.copies_end || r.copies_end > p_.copies.size())
      return bad_read(i, "expected its copies among the plan's " + number(p_.copies.size()) + ", found [" +
                             number(r.copies) + ", " + number(r.copies_end) + ")");
    if (r.object != no_object) {
      if (index_of(r.object) >= p_.objects.size())
        return bad_read(i, "expected one of the plan's " + number(p_.objects.size()) + " objects, found number " +
                               number(index_of(r.object)));
      out_.read += bytes{r.size};
    }
    if (r.size > out_.largest) out_.largest = r.size;
    u8 traits = 0;
    for (u32 c = r.copies; c < r.copies_end; ++c) {
      if (auto inside = box(i, p_.copies[c]); !inside) return inside;
      if (p_.copies[c].kind == what::keep) traits |= prepared::has_keeps;
      if (p_.copies[c].kind == what::step) traits |= prepared::has_steps;
    }
    if (traits & prepared::has_keeps)  // a lane takes out what is kept before anything else in the slot
      for (u32 c = r.copies; c < r.copies_end; ++c)
        if (auto k = keep(i, p_.copies[c]); !k) return k;
    if (live_ > out_.kept_peak) out_.kept_peak = live_;
    if (traits & prepared::has_steps)
      for (u32 c = r.copies; c < r.copies_end; ++c)
        if (auto s = step(i, p_.copies[c]); !s) return s;
    out_.traits.push_back(traits);
    out_.opens_of.push_back(static_cast<u32>(out_.opens.size()));
    return {};
  }

  /// Does the box lie inside the read, and inside what it is written to?
  result<void> box(u32 i, plan_copy const& c) {
    if (!c.rows || !c.width) return bad_read(i, "expected copies of at least one byte, found an empty one");
    if (c.from + u64{c.rows - 1} * c.from_pitch + c.width > p_.reads[i].size)
      return bad_read(i, "a copy reaches past the " + number(p_.reads[i].size) + " bytes of the read");
    bool const keep = c.kind == what::keep;
    if (c.to >= (keep ? p_.groups.size() : p_.parameters.size()))
      return bad_read(i, std::string("a copy names ") + (keep ? "group " : "parameter ") + number(c.to) +
                             ", which is not in the plan");
    u64 const room = keep ? p_.groups[c.to].size : sizes_[c.to];
    u64 end = 0;
    if (__builtin_mul_overflow(u64{c.rows - 1}, c.at_pitch, &end) || __builtin_add_overflow(end, c.at, &end) ||
        __builtin_add_overflow(end, u64{c.width}, &end) || end > room)
      return bad_read(i, "a copy reaches past the " + number(room) + " bytes of " +
                             (keep ? "group " + number(c.to) : p_.parameters[c.to].name));
    if (!keep) ++found_[c.to];
    return {};
  }

  result<void> keep(u32 i, plan_copy const& c) {
    if (c.kind != what::keep) return {};
    auto const& g = p_.groups[c.to];
    if (keeps_[c.to]++ == 0) {
      out_.opens.push_back(c.kept_in());
      live_ += bytes{g.size};
    }
    if (keeps_[c.to] > g.keeps)
      return bad_read(i, "expected " + number(g.keeps) + " keeps for group " + number(c.to) + ", found another one");
    return {};
  }

  result<void> step(u32 i, plan_copy const& c) {
    if (c.kind != what::step) return {};
    u32 const at = index_of(c.group);
    if (at >= p_.groups.size()) return bad_read(i, "a step names group " + number(at) + ", which is not in the plan");
    auto const& g = p_.groups[at];
    if (!g.run) return bad_read(i, "group " + number(at) + " has steps and nothing to run");
    if (!g.keeps || keeps_[at] != g.keeps)
      return bad_read(i, "a step of group " + number(at) + " stands before what it needs; order the plan");
    if (++steps_[at] > g.steps)
      return bad_read(i, "expected " + number(g.steps) + " steps for group " + number(at) + ", found another one");
    if (steps_[at] == g.steps) live_ -= bytes{g.size};
    return {};
  }

  result<void> totals() {
    for (u32 g = 0; g < p_.groups.size(); ++g)
      if (!p_.groups[g].steps || steps_[g] != p_.groups[g].steps)
        return bad("expected " + number(p_.groups[g].steps) + " steps, and at least one, for group " + number(g) +
                   ", found " + number(steps_[g]) + ": it would never close");
    for (u32 i = 0; i < p_.parameters.size(); ++i)
      if (found_[i] != out_.pieces[i])
        return bad("expected " + number(out_.pieces[i]) + " pieces for " + p_.parameters[i].name + ", found " +
                   number(found_[i]));
    return derivations();
  }

  /// Are sources and results there, of the sizes that the step takes them for, and each in one derivation?
  result<void> derivations() {
    std::vector<u8> used(p_.derivations.empty() ? 0 : p_.parameters.size());
    auto once = [&](param_id p, bool derived) {
      return index_of(p) < used.size() && !used[index_of(p)]++ && p_.parameters[index_of(p)].derived == derived;
    };
    auto fits = [&](param_id p, u64 elements) {
      auto const& q = p_.parameters[index_of(p)];
      return q.size.count == elements * bits_of(q.type) / 8;
    };
    for (u32 i = 0; i < p_.derivations.size(); ++i) {
      auto const& d = p_.derivations[i];
      bool good = d.numbers && d.n && d.k && d.unit[0] && d.unit[1] && d.packed && !d.sources.empty() &&
                  !d.results.empty() && d.sources.size() <= 1 + stored_rows::most_sides;
      for (auto const s : d.sources) good = good && once(s, false);
      good = good && fits(d.sources[0], d.n * ((d.k - 1) / d.packed + 1));
      if (good && d.sources.size() > 1)
        good = fits(d.sources[1], ((d.n - 1) / d.unit[0] + 1) * ((d.k - 1) / d.unit[1] + 1));
      for (auto const& r : d.results)
        good = good && once(r.to, true) && r.head && d.n % r.head == 0 && r.first <= r.head &&
               r.count <= r.head - r.first && is_plain_float(p_.parameters[index_of(r.to)].type) &&
               (p_.parameters[index_of(r.to)].type == dtype::bf16 ||
                p_.parameters[index_of(r.to)].type == p_.parameters[index_of(d.sources[0])].type) &&
               fits(r.to, d.n / r.head * r.count * d.k);
      if (!good)
        return bad("derivation " + number(i) +
                   ": expected a linear and parameters made of its rows, found sizes or types that are not theirs");
    }
    return {};
  }

  plan const& p_;
  prepared out_;
  std::vector<u32> keeps_, steps_, found_;  // copies so far: of groups, of parameters
  std::vector<u64> sizes_;                  // of parameters
  bytes live_;
};

/// @errors plan
inline result<prepared> prepare(plan const& p) { return plan_checker(p).run(); }
}  // namespace detail
PENSTOCK_END
