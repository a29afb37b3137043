#pragma once
#include <algorithm>
#include <utility>

#include <penstock/format/detail/message.hpp>
#include <penstock/format/quantization.hpp>

PENSTOCK_BEGIN
PENSTOCK_INLINE std::string to_string(quant_declaration const& declared) {
  auto const plain = [](std::string const& text) {  // as it is, unless it has to be escaped or cut
    auto shown = detail::shown(text);
    return shown == '"' + text + '"' ? text : shown;
  };
  std::string details = plain(declared.format);
  auto const add = [&](std::string const& text) { details += (details.empty() ? "" : ", ") + text; };
  if (declared.bits) add(detail::joined(*declared.bits, " bits"));
  if (declared.group_size) add(detail::joined("groups of ", *declared.group_size));
  if (declared.weight_block_size.size() == 2)
    add(detail::joined("blocks of ", declared.weight_block_size[0], " x ", declared.weight_block_size[1]));
  if (!declared.activation.empty() && declared.activation != "dynamic")
    add(plain(declared.activation) + " activation scheme");
  return detail::joined(plain(declared.method), details.empty() ? "" : " (" + details + ")", ", declared in ",
                        plain(declared.where));
}

namespace detail {
/// Reads one quantisation block.
class quant_reader {
 public:
  quant_reader(json_tree const& config, u32 block, std::string_view file, std::string where, std::string scope)
      : config_(config), block_(block), file_(file) {
    d_.where = std::move(where);
    d_.scope = std::move(scope);
  }

  result<quant_declaration> read() {
    if (auto r = read_method(); !r) return std::move(r).error();
    if (auto r = read_ignored(); !r) return std::move(r).error();
    if (auto r = read_sizes(); !r) return std::move(r).error();
    if (auto r = read_text("activation_scheme", d_.activation); !r) return std::move(r).error();
    config_.for_each(block_, [&](u32 i) {
      auto const key = config_.key(i);
      if (std::find(std::begin(known), std::end(known), key) == std::end(known)) d_.unread.emplace_back(key);
    });
    return std::move(d_);
  }

 private:
  static constexpr std::string_view known[] = {"quant_method",
                                               "quant_algo",
                                               "fmt",
                                               "format",
                                               "ignore",
                                               "modules_to_not_convert",
                                               "w_bit",
                                               "num_bits",
                                               "bits",
                                               "group_size",
                                               "ignored_layers",
                                               "exclude_modules",
                                               "q_group_size",
                                               "config_groups",
                                               "activation_scheme",
                                               "quantized_layers",
                                               "weight_block_size"};

  error wrong(std::string_view expected, std::string_view found, std::string_view hint) const {
    return {error_kind::config,
            joined(file_, ": expected ", expected, " in ", d_.where, ", found ", found, "; ", hint)};
  }
  error wrong(std::string_view expected, std::string_view key, u32 at) const {
    return wrong(expected, joined(key, " = ", config_.shown(at)), "correct it or get the file again");
  }

  /// Sets `text` where the block has the key.
  result<void> read_text(std::string_view key, std::string& text) const {
    auto const at = config_.find(key, block_);
    if (!at) return {};
    if (config_.kind(*at) != json_kind::text) return wrong("a string", key, *at);
    text = config_.text(*at);
    return {};
  }

  result<void> read_method() {
    std::string algorithm;
    for (auto [key, text] : {std::pair{"quant_method", &d_.method}, {"quant_algo", &algorithm}})
      if (auto r = read_text(key, *text); !r) return r;
    for (std::string_view key : {"quant_algo", "fmt", "format"})
      if (auto r = read_text(key, d_.format); !r) return r;
    if (d_.method.empty() && config_.find("config_groups", block_)) d_.method = "compressed-tensors";
    if (!algorithm.empty() && (d_.method.empty() || d_.method == "modelopt")) d_.method = modelopt_method(algorithm);
    if (d_.method.empty())
      return wrong("a quant_method", "none, as in MLX exports, which are unsupported",
                   "use the original checkpoint, or one quantised as fp8, compressed-tensors, gptq or awq");
    return {};
  }

  std::string modelopt_method(std::string_view algorithm) const {
    auto const has = [](std::string_view text, std::string_view part) { return text.find(part) != text.npos; };
    if (has(algorithm, "MIXED_PRECISION")) {
      bool nvfp4 = false;
      if (auto const layers = config_.find("quantized_layers", block_))
        config_.for_each(*layers, [&](u32 layer) {
          auto const a = config_.find("quant_algo", layer);
          nvfp4 |= a && config_.kind(*a) == json_kind::text && has(config_.text(*a), "NVFP4");
        });
      return nvfp4 ? "modelopt_mixed" : "w4afp8";
    }
    return has(algorithm, "FP4") ? "modelopt_fp4" : has(algorithm, "FP8") ? "modelopt_fp8" : "modelopt";
  }

  result<void> read_ignored() {
    for (std::string_view key : {"ignore", "modules_to_not_convert", "ignored_layers", "exclude_modules"}) {
      auto const list = config_.find(key, block_);
      if (!list) continue;
      if (config_.kind(*list) != json_kind::list) return wrong("a list of names", key, *list);
      std::optional<u32> odd;
      config_.for_each(*list, [&](u32 i) {
        if (config_.kind(i) != json_kind::text) odd = i;
        else d_.ignored.emplace_back(config_.text(i));
      });
      if (odd) return wrong("a list of names", key, *odd);
    }
    return {};
  }

  /// A natural number from 1 to `most`; group sizes of -1 and 0 mean: none.
  result<void> read_number(std::string_view key, u32 in, u64 most, std::optional<u64>& number) const {
    auto const at = config_.find(key, in);
    if (!at) return {};
    bool const natural = config_.kind(*at) == json_kind::natural;
    bool const group = key.ends_with("group_size");
    if (group &&
        ((config_.kind(*at) == json_kind::negative && config_.real(*at) == -1) || (natural && !config_.natural(*at))))
      return {};
    if (!natural || config_.natural(*at) == 0 || config_.natural(*at) > most)
      return wrong(joined("a number from 1 to ", most), key, *at);
    number = config_.natural(*at);
    return {};
  }

  result<void> read_sizes() {
    constexpr u64 most = 1u << 30;
    for (std::string_view key : {"w_bit", "num_bits", "bits"})
      if (auto r = read_number(key, block_, 64, d_.bits); !r) return r;
    for (std::string_view key : {"q_group_size", "group_size"})
      if (auto r = read_number(key, block_, most, d_.group_size); !r) return r;
    if (auto const blocks = config_.find("weight_block_size", block_)) {
      bool good = config_.kind(*blocks) == json_kind::list;
      config_.for_each(*blocks, [&](u32 i) {
        good = good && config_.kind(i) == json_kind::natural && config_.natural(i) && config_.natural(i) <= most;
        d_.weight_block_size.push_back(config_.natural(i));
      });
      if (!good || d_.weight_block_size.size() != 2)
        return wrong("two numbers, rows and columns,", "weight_block_size", *blocks);
    }
    if (auto const groups = config_.find("config_groups", block_)) return read_groups(*groups);
    return {};
  }

  /// A value as JSON, but of objects in lists only that they are there.
  std::string json_of(u32 value) const {
    if (config_.kind(value) != json_kind::list) return config_.shown(value);
    std::string list;
    config_.for_each(value, [&](u32 i) { list += (list.empty() ? "" : ", ") + config_.shown(i); });
    return "[" + list + "]";
  }
  /// Of compressed-tensors: bits and group size where all groups agree, and what the first group says.
  result<void> read_groups(u32 groups) {
    config_.for_each(groups, [&](u32 group) {
      if (d_.groups++) return;
      config_.for_each(group, [&](u32 i) {
        if (config_.key(i) != "weights") return static_cast<void>(d_.group.emplace_back(config_.key(i), json_of(i)));
        config_.for_each(
            i, [&](u32 weights) { d_.group.emplace_back(joined("weights.", config_.key(weights)), json_of(weights)); });
      });
    });
    std::vector<std::pair<std::optional<u64>, std::optional<u64>>> found;
    result<void> r;
    config_.for_each(groups, [&](u32 group) {
      auto const weights = config_.find("weights", group);
      if (!r || !weights) return;
      auto& [bits, size] = found.emplace_back();
      r = read_number("num_bits", *weights, 64, bits);
      if (r) r = read_number("group_size", *weights, 1u << 30, size);
    });
    if (!r || found.empty()) return r;
    auto const agree = [&](auto member) {
      return std::all_of(found.begin(), found.end(), [&](auto const& g) { return g.*member == found[0].*member; });
    };
    using group = std::pair<std::optional<u64>, std::optional<u64>>;
    if (agree(&group::first) && !d_.bits) d_.bits = found[0].first;
    if (agree(&group::second) && !d_.group_size) d_.group_size = found[0].second;
    return {};
  }

  json_tree const& config_;
  u32 block_;
  std::string_view file_;
  quant_declaration d_{};
};

PENSTOCK_INLINE result<std::optional<quant_declaration>> find_quantization(json_tree const& config,
                                                                           std::string_view text_key,
                                                                           std::string_view file) {
  std::optional<quant_declaration> first;
  std::string_view const scopes[] = {{}, text_key};
  for (std::string_view const scope : std::span{scopes, text_key.empty() ? 1u : 2u})
    for (std::string_view key : {"quantization_config", "compression_config", "quantization"}) {
      auto const where = scope.empty() ? std::string{key} : joined(scope, ".", key);
      auto const block = config.find(where);
      if (!block) continue;
      if (config.kind(*block) != json_kind::object)
        return error{error_kind::config, joined(file, ": expected ", where, " to be an object, found ",
                                                config.shown(*block), "; correct it or get the file again")};
      bool any = false;
      config.for_each(*block, [&](u32 i) { any |= config.kind(i) != json_kind::null; });
      if (!any) continue;
      auto next = quant_reader{config, *block, file, where, std::string{scope}}.read();
      if (!next) return std::move(next).error();
      if (!first) {
        first = *std::move(next);
        continue;
      }
      next->where = first->where;
      next->scope = first->scope;
      next->ignored = first->ignored;
      next->unread = first->unread;
      if (*next != *first)
        return error{error_kind::config,
                     joined(file, ": expected one quantisation, found ", to_string(*first), ", and another in ", where,
                            "; remove the one that is not true of the tensors")};
    }
  return first;
}
}  // namespace detail
PENSTOCK_END
