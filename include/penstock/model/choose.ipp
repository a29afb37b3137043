#pragma once
#include <algorithm>
#include <array>

#include <penstock/model/choose.hpp>
#include <penstock/storage/local.hpp>
#include <penstock/storage/name.hpp>

PENSTOCK_BEGIN
namespace detail {
PENSTOCK_INLINE bool natural_less(std::string_view a, std::string_view b) noexcept {
  constexpr auto digit = [](char c) { return c >= '0' && c <= '9'; };
  constexpr auto number_at = [](std::string_view text) {
    auto const end = std::find_if_not(text.begin(), text.end(), digit);
    return text.substr(0, static_cast<std::size_t>(end - text.begin()));
  };
  auto const whole_a = a, whole_b = b;
  while (!a.empty() && !b.empty()) {
    if (digit(a.front()) && digit(b.front())) {
      auto x = number_at(a), y = number_at(b);
      a.remove_prefix(x.size());
      b.remove_prefix(y.size());
      while (x.size() > 1 && x.front() == '0') x.remove_prefix(1);
      while (y.size() > 1 && y.front() == '0') y.remove_prefix(1);
      if (x.size() != y.size()) return x.size() < y.size();
      if (x != y) return x < y;
    } else {
      if (a.front() != b.front()) return static_cast<unsigned char>(a.front()) < static_cast<unsigned char>(b.front());
      a.remove_prefix(1);
      b.remove_prefix(1);
    }
  }
  if (a.empty() != b.empty()) return a.empty();
  return whole_a < whole_b;  // they differ in leading zeros at most
}

PENSTOCK_INLINE bool holds_weights(std::string_view name) noexcept {
  constexpr std::array<std::string_view, 31> suffixes{
      ".safetensors", ".bin",  ".pt",   ".pth", ".gguf",     ".ggml",     ".onnx",   ".onnx_data",
      ".h5",          ".hdf5", ".keras", ".msgpack", ".tensors", ".ckpt", ".npz",    ".npy",
      ".pdparams",    ".pdiparams", ".ot", ".tflite", ".mlmodel", ".engine", ".plan",
      ".pkl",         ".pickle", ".nemo", ".zip", ".tar", ".gz", ".zst", ".weight"};
  return std::any_of(suffixes.begin(), suffixes.end(), [&](std::string_view suffix) {
    if (name.size() < suffix.size()) return false;
    auto const end = name.substr(name.size() - suffix.size());
    return std::equal(end.begin(), end.end(), suffix.begin(),
                      [](char c, char wanted) { return (c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c) == wanted; });
  });
}

PENSTOCK_INLINE bool is_metadata(std::string_view name) noexcept {
  if (name.ends_with('/')) return false;  // how some tools mark a folder
  if (name.starts_with(".git/") || name.starts_with(".cache/")) return false;
  return !holds_weights(name);
}

PENSTOCK_INLINE result<place> place_of(uri const& given) {
  auto const& text = given.text();
  bool const has_query = given.scheme().starts_with("http");
  auto const end = has_query ? std::min(text.find('?'), text.size()) : text.size();
  std::string_view const path = std::string_view{text}.substr(0, end);
  auto const begin = text.size() - given.rest().size();
  auto const slash = path.rfind('/');
  bool const below_something = given.scheme().empty() || (slash != path.npos && slash >= begin);
  if (!path.ends_with(".safetensors") || path.ends_with("/.safetensors") || !below_something)
    return place{given, {}};

  std::string only{slash == path.npos ? path : path.substr(slash + 1)};
  if (has_query || given.scheme() == "file") {
    auto decoded = percent_decoded(only);
    if (!decoded)
      return error{error_kind::usage, "expected percent-encoded UTF-8, found a broken escape in " + given.shown()};
    only = std::move(*decoded);
  }
  std::string root = slash == path.npos ? "." : std::string{path.substr(0, std::max(slash, begin + (slash == begin)))};
  auto parsed = uri::parse(root + text.substr(end));
  if (!parsed) return std::move(parsed).error();
  return place{*std::move(parsed), std::move(only)};
}

PENSTOCK_INLINE result<weight_files> choose_weights(std::span<stored_object const> listed, std::string const& shown) {
  constexpr std::string_view usual_index = "model.safetensors.index.json", usual_file = "model.safetensors";
  constexpr auto consolidated = [](std::string const& name) { return name.starts_with("consolidated"); };
  // What is not consolidated hides what is: both hold the same model, in two layouts.
  constexpr auto prefer_plain = [consolidated](std::vector<std::string>& names) {
    if (!std::all_of(names.begin(), names.end(), consolidated))
      names.erase(std::remove_if(names.begin(), names.end(), consolidated), names.end());
  };
  std::vector<std::string> indices, files;
  for (auto const& object : listed) {
    if (object.name.find('/') != object.name.npos) continue;
    if (object.name == usual_index) return weight_files{object.name, {}};
    if (object.name.ends_with(".safetensors.index.json")) indices.push_back(object.name);
    if (object.name.ends_with(".safetensors")) files.push_back(object.name);
  }
  if (std::find(files.begin(), files.end(), usual_file) != files.end())
    return weight_files{{}, {std::string{usual_file}}};

  auto const joined_names = [](std::vector<std::string> const& names, std::size_t most) {
    std::string text;
    for (std::size_t i = 0; i < std::min(names.size(), most); ++i) text += (i ? ", " : "") + shown_name(names[i]);
    return names.size() > most ? text + " and " + std::to_string(names.size() - most) + " more" : text;
  };
  prefer_plain(indices);
  std::sort(indices.begin(), indices.end());
  if (indices.size() > 1)
    return error{error_kind::config,
                 "expected one index in " + shown + ", found " + joined_names(indices, 10) +
                     "; keep one, or name it model.safetensors.index.json",
                 {.uri = shown}};
  if (indices.size() == 1) return weight_files{indices.front(), {}};
  prefer_plain(files);
  if (!files.empty()) {
    std::sort(files.begin(), files.end(), natural_less);
    return weight_files{{}, std::move(files)};
  }
  std::vector<std::string> there;
  for (auto const& object : listed) there.push_back(object.name);
  std::sort(there.begin(), there.end());
  return error{error_kind::not_found,
               "no weights in " + shown + ": looked for *.safetensors.index.json and *.safetensors, found " +
                   (there.empty() ? "nothing" : joined_names(there, 10)) + "; name the folder in which the weights are",
               {.uri = shown}};
}
}  // namespace detail
PENSTOCK_END
