#pragma once
#include <algorithm>
#include <array>
#include <vector>

#include <penstock/model/choose.hpp>
#include <penstock/storage/local.hpp>
#include <penstock/storage/name.hpp>

PENSTOCK_BEGIN
namespace detail {
PENSTOCK_INLINE bool holds_weights(std::string_view name) noexcept {
  constexpr std::array<std::string_view, 31> suffixes{
      ".safetensors", ".bin",       ".pt",    ".pth",     ".gguf",    ".ggml",   ".onnx",  ".onnx_data",
      ".h5",          ".hdf5",      ".keras", ".msgpack", ".tensors", ".ckpt",   ".npz",   ".npy",
      ".pdparams",    ".pdiparams", ".ot",    ".tflite",  ".mlmodel", ".engine", ".plan",  ".pkl",
      ".pickle",      ".nemo",      ".zip",   ".tar",     ".gz",      ".zst",    ".weight"};
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
  if (!path.ends_with(".safetensors") || path.ends_with("/.safetensors") || !below_something) return place{given, {}};

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

PENSTOCK_INLINE std::string some_of(std::span<std::string const> names) {
  constexpr std::size_t most = 10;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), most); ++i) text += (i ? ", " : "") + shown_name(names[i]);
  return names.size() > most ? text + " and " + std::to_string(names.size() - most) + " more" : text;
}

PENSTOCK_INLINE result<std::string> index_of_folder(std::span<std::string const> listed, std::string const& shown) {
  constexpr std::string_view usual = "model.safetensors.index.json";
  if (std::find(listed.begin(), listed.end(), usual) != listed.end()) return std::string{usual};
  if (std::find(listed.begin(), listed.end(), "model.safetensors") != listed.end()) return std::string{};
  std::vector<std::string> found;
  for (auto const& name : listed)
    if (name.ends_with(".safetensors.index.json") && name.find('/') == name.npos) found.push_back(name);
  // `consolidated*` is another form of the same model.
  constexpr auto consolidated = [](std::string const& name) { return name.starts_with("consolidated"); };
  if (!std::all_of(found.begin(), found.end(), consolidated))
    found.erase(std::remove_if(found.begin(), found.end(), consolidated), found.end());
  if (found.size() > 1)
    return error{error_kind::config,
                 "expected one index in " + shown + ", found " + some_of(found) +
                     "; keep one, or name it model.safetensors.index.json",
                 {.uri = shown}};
  return found.empty() ? std::string{} : found.front();
}
}  // namespace detail
PENSTOCK_END
