#pragma once
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include <penstock/format/checkpoint.hpp>
#include <penstock/format/detail/pattern.hpp>
#include <penstock/format/quant_declaration.hpp>

PENSTOCK_BEGIN
namespace detail {
/// The modules that a declaration leaves alone.
///
/// An entry `re:...` is a regular expression, matched from the start of a module's name. Another is a module's whole name, with or without `model.` in front, or its last segments. A parent's name does not
/// stand for its children, nor the engine's name of a fused parameter for its pieces: public files list both.
/// @source transformers and vLLM, `modules_to_not_convert` and `ignored_layers`; compressed-tensors, `ignore`
class ignore_list {
 public:
  /// @param d  outlives the list; null: nothing is ignored
  /// @errors config: an expression that is none
  static result<ignore_list> make(quant_declaration const* d) {
    ignore_list list{d};
    for (std::size_t i = 0; d && i < d->ignored.size(); ++i) {
      if (!d->ignored[i].starts_with("re:")) continue;
      auto made = pattern::parse(std::string_view{d->ignored[i]}.substr(3));
      if (!made)
        return error{error_kind::config,
                     made.error().message() + "; correct the entry of " + d->where + ", or name the modules in full"};
      list.patterns_.push_back(*std::move(made));
    }
    return list;
  }
  /// Of names alone. @param d  as in make
  explicit ignore_list(quant_declaration const* d) {
    if (d) names_.insert(d->ignored.begin(), d->ignored.end());
  }
  [[nodiscard]] bool empty() const noexcept { return names_.empty(); }
  [[nodiscard]] bool has(std::string_view module) const {
    bool found = false;
    for_each(module, [&](auto const&) { found = true; });
    for (std::size_t i = 0; !found && i < patterns_.size(); ++i) found = patterns_[i].matches(module);
    return found;
  }
  /// Calls `f` with each name that stands for the module.
  template <class F>
  void for_each(std::string_view module, F&& f) const {
    if (empty()) return;
    auto const ask = [&](std::string_view name) {
      if (auto const i = names_.find(name); i != names_.end()) f(*i);
    };
    ask("model." + std::string{module});
    for (std::size_t at = 0; at != module.npos; at = module.find('.', at)) ask(module.substr(at ? ++at : 0));
  }

 private:
  std::unordered_set<std::string_view> names_;
  std::vector<pattern> patterns_{};
};

/// The entries that leave no module alone; expressions, also those with a bare star, are not looked at.
inline std::vector<std::string> ignored_nothing(quant_declaration const& d,
                                                std::span<checkpoint_tensor const> tensors) {
  ignore_list const list{&d};
  std::unordered_set<std::string_view> used;
  for (auto const& t : tensors) {
    std::string_view const module = std::string_view{t.name}.substr(0, t.name.rfind('.'));
    list.for_each(module, [&](std::string_view entry) { used.insert(entry); });
  }
  std::vector<std::string> left;
  for (auto const& entry : d.ignored)
    if (!entry.starts_with("re:") && entry.find('*') == entry.npos && !used.contains(entry)) left.push_back(entry);
  return left;
}
}  // namespace detail
PENSTOCK_END
