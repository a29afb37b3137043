#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <penstock/format/checkpoint.hpp>
#include <penstock/plan/landing.hpp>
#include <penstock/plan/rank_experts.hpp>
#include <penstock/plan/reads.hpp>
#include <penstock/plan/schemes.hpp>

PENSTOCK_BEGIN
namespace detail {
/// What the models of one plan share: which tensors are read, which tables of experts are for some layer.
struct used_inputs {
  std::vector<bool> tensors, tables;
};

/// Matches a checkpoint against a bound map and collects what one rank takes of it.
class planner {
 public:
  planner(checkpoint const& weights, model_config const& config, bound_map const& map, scheme_choice const& schemes,
          topology const& at, plan& into, used_inputs& used)
      : weights_(weights), config_(config), map_(map), schemes_(schemes), at_(at), plan_(into), used_(used) {}

  /// Adds to the plan's parameters, derivations and aliases.
  /// @returns what goes where, in no order
  result<std::vector<transfer>> run();

 private:
  static constexpr u32 no_parameter = ~u32{};

  /// What a line of the map comes to under one scheme: the tensors of some of its layers.
  struct line_part {
    landing where;
    dtype type = dtype::any_float;
    bool required = false;  ///< its tensors must be there
    bool landed = true;
    bool note = false;  ///< its tensors are known and become no parameter
  };
  struct line_state {
    std::vector<std::optional<line_part>> by_scheme{};  ///< nothing: the scheme has no such part, or it is not wanted
    u32 family = 0;
    u64 first_layer = 0, layers = 1, experts = 1;
    std::vector<bool> seen{};                   ///< by layer and expert
    std::vector<rank_experts const*> placed{};  ///< of a stacked parameter: by layer, or one for all layers
  };
  /// The parameters that a line writes, one for each layer, together with the other pieces of them.
  struct family {
    std::size_t line = 0;           ///< the first of its lines
    std::string tied_name{};        ///< what it is called where it is only there for a tied head
    std::vector<u32> parameters{};  ///< by layer, from the first of its layers; no_parameter: this layer has none
  };

  result<void> land_lines();
  result<void> find_layers();
  std::string tied_to(std::string_view name) const;
  result<void> number_parameters();
  result<void> add_derived();
  derivation linear_at(std::vector<std::size_t> const& lines, scheme_view const& scheme, u64 layer) const;
  result<void> derive(std::size_t rule, derivation source, u64 layer);
  result<void> match_tensors();
  result<void> check(checkpoint_tensor const& t, line_part const& part, std::size_t line, u64 layer) const;
  result<void> take(checkpoint_tensor const& t, landing const& w, hit const& h);
  result<void> nothing_is_missing() const;
  void add_padding();
  void add_aliases();
  error unknown(checkpoint_tensor const& t) const;
  error contradiction(checkpoint_tensor const& t, std::string const& expected, std::string const& found) const;
  std::string scheme_of(std::size_t line, u64 layer) const;
  /// Can every tensor of the model be shared like this?
  bool lands(topology const& at) const;
  result<void> place_experts(std::size_t line);
  rank_experts const& experts_at(std::size_t line, u64 layer) const noexcept {
    auto const& all = lines_[line].placed;
    return *all[all.size() == 1 ? 0 : layer];
  }
  error_context context_of(checkpoint_tensor const& t) const {
    error_context c;
    c.uri = weights_.uri, c.tensor = t.name, c.range = t.where;
    return c;
  }
  /// Has this rank's pipeline stage the parameters of a rule in a layer?
  bool on_this_stage(arch::rule const& r, u64 layer) const noexcept {
    if (r.at != arch::stage::of_layer) return r.at == arch::stage::first ? at_.first_stage() : at_.last_stage();
    return r.path[1].empty() || (layer >= stage_layers_.first && layer < stage_layers_.end);
  }
  u64 experts_of(std::size_t line) const noexcept {
    u64 const in_one = map_.bound_of(line).slices;
    return in_one ? in_one : lines_[line].experts;
  }
  u64 layer_of(hit const& h) const noexcept { return h.index[0] - lines_[h.line].first_layer; }
  static bool any_seen(line_state const& l, u64 layer) {
    for (u64 e = 0; !l.seen.empty() && e < l.experts; ++e)
      if (l.seen[layer * l.experts + e]) return true;
    return false;
  }
  /// What line `line` is in a layer, counted from the first of its layers; null: nothing that is wanted.
  line_part const* part_at(std::size_t line, u64 layer) const noexcept {
    auto const& all = lines_[line].by_scheme;
    if (all.empty() || !map_.in_layer(line, lines_[line].first_layer + layer)) return nullptr;
    auto const& p = all[schemes_.of(map_.map().lines()[line].rule, layer)];
    return p ? &*p : nullptr;
  }

  checkpoint const& weights_;
  model_config const& config_;
  bound_map const& map_;
  scheme_choice const& schemes_;
  topology const& at_;
  plan& plan_;
  used_inputs& used_;
  u32 const first_parameter_ = static_cast<u32>(plan_.parameters.size()), first_layer_ = plan_.layers;
  std::vector<line_state> lines_;
  std::vector<std::size_t> order_;  ///< lines in the order of the map
  std::vector<family> families_;
  std::map<std::pair<expert_table const*, u64>, rank_experts> experts_;  ///< by table and number of experts
  layer_range stage_layers_;
  std::vector<u32> giver_;  ///< for each parameter, the tensor that gave it its dtype
  std::vector<transfer> transfers_;
  std::optional<error> cannot_land_;  ///< the first line that does not divide
};
}  // namespace detail
PENSTOCK_END
