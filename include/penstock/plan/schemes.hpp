#pragma once
#include <string>
#include <string_view>
#include <vector>

#include <penstock/format/ignore_list.hpp>
#include <penstock/plan/bound_map.hpp>

PENSTOCK_BEGIN
namespace detail {
/// "none, fp8_block"
inline std::string schemes_of(map_view const& map) {
  std::string names;
  for (auto const& s : map.schemes()) names += (names.empty() ? "" : ", ") + std::string{s.name};
  return names;
}

/// Which scheme each linear has: what the config declares, and `none` for the modules that it leaves alone.
class scheme_choice {
 public:
  /// @param wanted  the name of a scheme; empty: what the config declares
  /// @errors config: an ignore list with a broken expression; a declared quantisation that is none of the map's schemes, or another than `wanted`; pieces of one
  ///         parameter of which only some are left alone; usage: no scheme of the name `wanted`
  static result<scheme_choice> make(bound_map const& m, model_config const& config, std::string_view wanted) {
    auto const scheme = declared(m.map(), config, wanted);
    if (!scheme) return scheme.error();
    scheme_choice c;
    auto const list = ignore_list::make(config.quantization());
    if (!list) return list.error();
    auto const& ignored = *list;
    for (std::size_t i = 0; i < m.map().rules().size(); ++i) {
      auto const& r = m.map().rules()[i];
      auto const& b = m.bound()[i];
      bool const plain = r.what != arch::rule::linear || r.never_quantised || !b.active || !*scheme;
      u64 const layers = b.count(0);
      c.by_rule_.emplace_back(plain || ignored.empty() ? 1 : layers, plain ? u8{0} : *scheme);
      if (plain || ignored.empty()) continue;
      auto const module = arch::name_of(r);
      // A list inside of a nested config may name modules as that model would by itself.
      std::size_t const prefix = config.quantization()->scope.empty() || r.path[0].empty() ? 0 : r.path[0].size() + 1;
      for (u64 layer = 0; layer < layers; ++layer) {  // the first expert speaks for all
        auto const name = filled_in(module.view(), b.lo[0] + layer, 0);
        if (ignored.has(name) || (prefix && ignored.has(std::string_view{name}.substr(prefix))))
          c.by_rule_[i][layer] = 0;
      }
    }
    if (auto ok = c.pieces_agree(m); !ok) return std::move(ok).error();
    return c;
  }

  /// @param layer  from the first of the rule's layers
  [[nodiscard]] u8 of(std::size_t rule, u64 layer) const noexcept {
    auto const& all = by_rule_[rule];
    return all.size() == 1 ? all[0] : all[layer];
  }
  [[nodiscard]] std::vector<u8> const& used_by(std::size_t rule) const& noexcept { return by_rule_[rule]; }

 private:
  static result<u8> declared(map_view const& map, model_config const& config, std::string_view wanted) {
    auto const schemes = map.schemes();
    auto const allowed = schemes_of(map);
    auto const* d = config.quantization();
    u8 found = 0;
    if (d) {
      while (found < schemes.size() &&
             !(schemes[found].declared ? schemes[found].declared(*d) : schemes[found].name == d->method))
        ++found;
      if (found == schemes.size())
        return error{error_kind::config, "config.json declares quantisation " + to_string(*d) +
                                             "; expected one of the schemes " + allowed +
                                             "; add the scheme that reads it to the pipeline's quant policy"};
      if (auto const why = schemes[found].unreadable ? schemes[found].unreadable(*d) : std::string{}; !why.empty())
        return error{error_kind::config, "config.json declares quantisation " + to_string(*d) + ", scheme " +
                                             std::string{schemes[found].name} + ": " + why +
                                             "; convert the checkpoint, or add a scheme that reads it"};
    }
    if (wanted.empty()) return found;
    for (u8 i = 0; i < schemes.size(); ++i) {
      if (schemes[i].name != wanted) continue;
      if (d && i != found)
        return error{error_kind::config, "expected the quantisation that config.json declares, " + to_string(*d) +
                                             ", found the wish for scheme \"" + std::string{wanted} +
                                             "\"; leave it out, or correct config.json"};
      return i;
    }
    return error{error_kind::usage,
                 "expected one of the schemes " + allowed + ", found \"" + std::string{wanted} + "\""};
  }

  result<void> pieces_agree(bound_map const& m) const {
    auto const rules = m.map().rules();
    for (std::size_t i = 0; i < rules.size(); ++i)
      for (std::size_t j = 0; j < rules.size(); ++j) {
        if (!rules[i].piece || rules[j].piece || !m.are_pieces_of_one(i, j)) continue;
        if (rules[i].as_numbers || rules[j].as_numbers) continue;  // plain in any case, or the planner says no
        u64 const layers = std::max(by_rule_[i].size(), by_rule_[j].size());
        for (u64 layer = 0; layer < layers; ++layer)
          if (of(i, layer) != of(j, layer)) return disagreement(m, of(i, layer) ? j : i, of(i, layer) ? i : j, layer);
      }
    return {};
  }
  static error disagreement(bound_map const& m, std::size_t alone, std::size_t quantised, u64 layer) {
    auto const at = m.bound()[alone].lo[0] + layer;
    auto const name = [&](auto const& spelled) { return "\"" + filled_in(spelled.view(), at, 0) + "\""; };
    auto const &a = m.map().rules()[alone], &b = m.map().rules()[quantised];
    return error{error_kind::config, "config.json leaves " + name(arch::name_of(a)) + " unquantised but not " +
                                         name(arch::name_of(b)) + "; expected both or neither: they are pieces of " +
                                         name(arch::target_of(a))};
  }

  std::vector<std::vector<u8>> by_rule_;  // by layer; one number where all layers have the same
};
}  // namespace detail
PENSTOCK_END
