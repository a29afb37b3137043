#pragma once
#include <map>
#include <string>
#include <vector>

#include <penstock/format/checkpoint.hpp>
#include <penstock/plan/landing.hpp>
#include <penstock/plan/reads.hpp>

PENSTOCK_BEGIN
namespace detail {
/// Matches a checkpoint against a bound map and collects what one rank takes of it.
class planner {
 public:
  planner(checkpoint const& weights, model_config const& config, bound_map const& map, topology const& at, plan& into)
      : weights_(weights), config_(config), map_(map), at_(at), plan_(into) {}

  /// Fills the plan's parameters and aliases.
  /// @returns what goes where, in no order
  result<std::vector<transfer>> run();

 private:
  /// What a line of the map comes to under this config and topology.
  struct line_state {
    landing where;
    dtype type = dtype::any_float;
    u32 family = 0;
    bool wanted = false;    ///< its tensors become (pieces of) parameters
    bool required = false;  ///< its tensors must be there
    u64 layers = 1, experts = 1;
    std::vector<bool> seen{};  ///< by layer and expert
  };
  /// The parameters that a line writes, one for each layer, together with the other pieces of them.
  struct family {
    std::size_t line = 0;           ///< the first of its lines
    std::vector<u32> parameters{};  ///< by layer, from the first of its layers
  };

  result<void> land_lines();
  void number_parameters();
  result<void> match_tensors();
  result<void> take(checkpoint_tensor const& t, hit const& h);
  result<void> nothing_is_missing() const;
  void add_padding();
  void add_aliases();
  error unknown(checkpoint_tensor const& t) const;
  error contradiction(checkpoint_tensor const& t, std::string const& expected, std::string const& found) const;
  extent experts_here(u64 count) const noexcept;

  checkpoint const& weights_;
  model_config const& config_;
  bound_map const& map_;
  topology const& at_;
  plan& plan_;
  std::vector<line_state> lines_;
  std::vector<std::size_t> order_;  ///< lines in the order of the map
  std::vector<hit> hits_;           ///< for each tensor
  std::vector<family> families_;
  std::vector<u32> giver_;  ///< for each parameter, the tensor that gave it its dtype
  std::vector<transfer> transfers_;
};
}  // namespace detail
PENSTOCK_END
