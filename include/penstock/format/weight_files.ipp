#pragma once
#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

#include <penstock/format/detail/message.hpp>
#include <penstock/format/natural.hpp>
#include <penstock/format/weight_files.hpp>

PENSTOCK_BEGIN
namespace detail {
/// `model-00002-of-00003.safetensors`, taken apart.
struct counted_file {
  std::string_view stem;    // "model"
  std::string_view digits;  // "00002", as written
  std::string_view of;      // "00003", as written
  u32 number = 0;
  u32 count = 0;

  static std::optional<counted_file> read(std::string_view name) {
    name.remove_suffix(std::string_view{".safetensors"}.size());
    auto const of = name.rfind("-of-");
    if (of == name.npos || of == 0) return std::nullopt;
    auto const dash = name.rfind('-', of - 1);
    if (dash == name.npos) return std::nullopt;
    counted_file f{name.substr(0, dash), name.substr(dash + 1, of - dash - 1), name.substr(of + 4)};
    auto const whole = [](std::string_view text, u32& n) {
      auto const end = text.data() + text.size();
      auto const r = std::from_chars(text.data(), end, n);
      return r.ec == std::errc{} && r.ptr == end && n <= 1'000'000;
    };
    if (!whole(f.digits, f.number) || !whole(f.of, f.count)) return std::nullopt;
    return f;
  }
  /// A file of the same set with another number, written as this one is.
  std::string sibling(u32 n) const {
    auto other = std::to_string(n);
    if (other.size() < digits.size()) other.insert(0, digits.size() - other.size(), '0');
    return joined(stem, "-", other, "-of-", of, ".safetensors");
  }
};

/// Missing files, of which the first ones are named.
struct missing_files {
  u64 count = 0;
  std::string list{};

  void add(auto const& name) {
    if (++count <= 20) list += joined(count > 1 ? ", " : "", name());
  }
  error wrong(std::string_view why) const {
    return {error_kind::not_found,
            joined("expected all files of weights that ", why, ", found ", count, " missing: ", list,
                   count > 20 ? joined(" and ", count - 20, " more") : "", "; complete the download or upload")};
  }
};

/// Files that count themselves: is the set one, and whole?
PENSTOCK_INLINE result<void> check_counted(std::vector<std::string> const& files) {
  std::optional<counted_file> set;
  std::string_view named;
  std::vector<u32> numbers;
  for (auto const& name : files) {
    auto const f = counted_file::read(name);
    if (!f) continue;
    if (set && (set->stem != f->stem || set->count != f->count))
      return error{error_kind::config, joined("expected one set of numbered files, found ", named, " and ", name,
                                              "; add an index, or remove the files that do not belong to the model")};
    if (!set) set = f, named = name;
    numbers.push_back(f->number);
  }
  if (!set) return {};
  std::sort(numbers.begin(), numbers.end());
  missing_files missing;
  u32 const first = numbers.front() ? 1 : 0;
  for (u32 n = first; n < first + set->count; ++n)
    if (!std::binary_search(numbers.begin(), numbers.end(), n)) missing.add([&] { return set->sibling(n); });
  if (missing.count) return missing.wrong("the numbered ones count");
  return {};
}
/// What to do where a folder has no weights.
PENSTOCK_INLINE std::string where_weights_are(std::span<std::string const> listing) {
  for (auto const& f : listing)
    if (auto const slash = f.rfind('/'); slash != f.npos && f.ends_with(".safetensors"))
      return joined("name the folder that has them: there are some in ", shown(f.substr(0, slash)));
  for (auto const& f : listing)
    for (std::string_view other : {".gguf", ".bin", ".pt", ".pth", ".ckpt"})
      if (f.ends_with(other))
        return joined("only safetensors are read: convert ", shown(f), ", or get the model in that format");
  return "check the URI";
}
}  // namespace detail

PENSTOCK_INLINE result<std::vector<std::string>> weight_files(std::span<std::string const> listing,
                                                              shard_index const* index) {
  std::vector<std::string> files;
  if (index) {
    std::vector<std::string_view> there(listing.begin(), listing.end());
    std::sort(there.begin(), there.end());
    detail::missing_files missing;
    for (auto const& f : index->files())
      if (!std::binary_search(there.begin(), there.end(), std::string_view{f}))
        missing.add([&]() -> auto& { return f; });
    if (missing.count) return missing.wrong("the index names");
    return index->files();
  }
  for (auto const& f : listing)
    if (f.ends_with(".safetensors") && f.find('/') == f.npos) files.push_back(f);
  if (std::find(files.begin(), files.end(), "model.safetensors") != files.end())
    return std::vector<std::string>{"model.safetensors"};
  auto const consolidated = [](std::string const& f) { return f.starts_with("consolidated"); };
  if (!std::all_of(files.begin(), files.end(), consolidated))
    files.erase(std::remove_if(files.begin(), files.end(), consolidated), files.end());
  if (files.empty())
    return error{error_kind::not_found,
                 detail::joined("expected a file of weights (*.safetensors), found none among ",
                                detail::counted(listing.size(), "file"), "; ", detail::where_weights_are(listing))};
  std::sort(files.begin(), files.end(), natural_less);
  if (auto r = detail::check_counted(files); !r) return std::move(r).error();
  return files;
}
PENSTOCK_END
