#pragma once
#include <sys/stat.h>

#include <algorithm>
#include <optional>
#include <span>

#include <penstock/model/choose.hpp>
#include <penstock/model/disk.hpp>
#include <penstock/model/snapshot.hpp>
#include <penstock/storage/local.hpp>
#include <penstock/storage/name.hpp>

PENSTOCK_BEGIN
PENSTOCK_INLINE result<std::vector<std::string>> local_snapshot::files() const {
  auto listed = detail::files_below(directory_.string());
  if (!listed) return std::move(listed).error();
  std::vector<std::string> names;
  for (auto& file : *listed)
    if (detail::is_metadata(file.name) && file.size <= detail::largest_metadata) names.push_back(std::move(file.name));
  return names;
}

PENSTOCK_INLINE result<std::string> local_snapshot::read(std::string_view name, bytes most) const {
  if (auto const fault = detail::fault_of_name(name); !fault.empty())
    return error{error_kind::config,
                 "expected a file below " + directory_.string() + ", found the name " + detail::shown_name(name) +
                     ": " + std::string{fault},
                 {.uri = directory_.string()}};
  return detail::read_file(directory_ / name, most);
}

PENSTOCK_INLINE result<std::string> read_text(local_snapshot const& from, std::string_view name) {
  return from.read(name);
}

PENSTOCK_INLINE result<model_config> read_config(local_snapshot const& from) {
  constexpr auto read_if_there = [](local_snapshot const& folder, std::string_view name) {
    using content = result<std::optional<std::string>>;
    auto text = folder.read(name, model_config::most);
    if (text) return content{*std::move(text)};
    if (text.error().kind() == error_kind::not_found) return content{std::nullopt};
    return content{std::move(text).error()};
  };
  auto const path_of = [&](char const* name) { return (from.directory() / name).string(); };
  auto const text = read_if_there(from, "config.json");
  if (!text) return text.error();
  model_config config;
  if (*text) {
    auto parsed = model_config::parse(std::as_bytes(std::span{**text}), path_of("config.json"));
    if (!parsed) return parsed;
    config = *std::move(parsed);
  }
  auto const declared = read_if_there(from, "hf_quant_config.json");
  if (!declared) return declared.error();
  if (*declared) {
    auto added = config.add_quantization(std::as_bytes(std::span{**declared}), path_of("hf_quant_config.json"));
    if (!added) return std::move(added).error();
  }
  return config;
}

namespace detail {
inline constexpr std::string_view copy_advice = "free some space, or choose another folder";

/// Writes one file of a copy, complete or not at all.
PENSTOCK_INLINE result<void> copy_one(std::string_view content, std::filesystem::path const& to) {
  if (auto made = make_folders(to.parent_path(), copy_advice); !made) return made;
  auto folder = temporary_folder::beside(to, copy_advice);
  if (!folder) return std::move(folder).error();
  auto const file = folder->path() / "file";
  if (auto done = write_at(file, {}, std::as_bytes(std::span{content}), copy_advice); !done) return done;
  if (auto done = flush(file, copy_advice); !done) return done;
  if (::rename(file.c_str(), to.c_str()) != 0) return cannot(errno, "write", to, copy_advice);
  return {};
}
}  // namespace detail

PENSTOCK_INLINE result<void> copy_snapshot(local_snapshot const& from, std::filesystem::path const& to) {
  namespace fs = std::filesystem;
  auto const names = from.files();
  if (!names) return names.error();
  std::error_code failed;
  auto target = fs::absolute(to, failed);
  if (failed) return detail::cannot(failed.value(), "write", to, detail::copy_advice);
  if (target.has_relative_path() && !target.has_filename()) target = target.parent_path();  // `folder/`

  std::vector<std::string> wanted;  // what is not there yet
  bool const is_new = !fs::exists(fs::symlink_status(target, failed));
  for (auto const& name : *names) {
    if (is_new || !fs::exists(fs::symlink_status(target / name, failed))) {
      wanted.push_back(name);
      continue;
    }
    auto const mine = from.read(name), found = detail::read_file(target / name, mebibytes(256));
    if (!mine) return mine.error();
    if (!found || *found != *mine)
      return error{error_kind::io,
                   "expected " + (target / name).string() +
                       " to be absent or equal to the model's file, found another " +
                       "content; remove it or choose another folder",
                   {.uri = (target / name).string()}};
  }
  std::optional<detail::temporary_folder> fresh;
  if (is_new) {
    if (auto made = detail::make_folders(target.parent_path(), detail::copy_advice); !made) return made;
    auto folder = detail::temporary_folder::beside(target, detail::copy_advice);
    if (!folder) return std::move(folder).error();
    fresh.emplace(*std::move(folder));
  }
  for (auto const& name : wanted) {
    auto const content = from.read(name);
    if (!content) return content.error();
    if (auto done = detail::copy_one(*content, (fresh ? fresh->path() : target) / name); !done) return done;
  }
  if (!fresh) return {};
  auto named = fresh->rename(target, detail::copy_advice);
  if (!named) return std::move(named).error();
  if (*named) return detail::flush(target.parent_path(), detail::copy_advice);
  return error{error_kind::io,
               target.string() + " was made by somebody else at the same time; look at it and try again",
               {.uri = target.string()}};
}
PENSTOCK_END
