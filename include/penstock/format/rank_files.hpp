#pragma once
#include <algorithm>
#include <charconv>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <penstock/core/result.hpp>
#include <penstock/format/detail/message.hpp>

PENSTOCK_BEGIN
/// A file that holds the parameters of one rank.
struct rank_file {
  std::string name;
  u32 rank = 0;
  u32 part = 0;
};

namespace detail {
/// The numbers that `{rank}` and `{part}` of a pattern stand for in a name; nothing where it does not match.
inline std::optional<std::pair<u32, u32>> numbers_by(std::string_view pattern, std::string_view name) {
  u32 rank = 0, part = 0;
  while (!pattern.empty()) {
    bool const is_rank = pattern.starts_with("{rank}");
    if (!is_rank && !pattern.starts_with("{part}")) {
      if (name.empty() || name[0] != pattern[0]) return std::nullopt;
      name.remove_prefix(1), pattern.remove_prefix(1);
      continue;
    }
    auto const r = std::from_chars(name.data(), name.data() + name.size(), is_rank ? rank : part);
    if (r.ec != std::errc{}) return std::nullopt;
    name.remove_prefix(static_cast<std::size_t>(r.ptr - name.data())), pattern.remove_prefix(6);
  }
  if (!name.empty()) return std::nullopt;
  return std::pair{rank, part};
}
}  // namespace detail

/// The files of a checkpoint that an engine saved rank by rank, by rank and part. Ranks count from 0; parts from 0 or 1.
///
/// @param listing  the folder's files, relative to it
/// @param pattern  a name in which `{rank}` stands for a number, and `{part}` may, as model-rank-{rank}-part-{part}.safetensors
/// @errors usage: a pattern without exactly one {rank}; not_found: no file matches, a rank or a part before the last is
///         missing; config: two files of one rank and part
[[nodiscard]] inline result<std::vector<rank_file>> rank_files(std::span<std::string const> listing,
                                                               std::string_view pattern) {
  auto const times = [&](std::string_view what) {
    std::size_t n = 0;
    for (auto at = pattern.find(what); at != pattern.npos; at = pattern.find(what, at + 1)) ++n;
    return n;
  };
  auto const shown = "the pattern " + detail::shown(pattern);
  if (times("{rank}") != 1 || times("{part}") > 1)
    return error{error_kind::usage, shown +
                                        ": expected {rank} once and {part} at most once, as in "
                                        "model-rank-{rank}-part-{part}.safetensors"};
  std::vector<rank_file> files;
  for (auto const& name : listing)
    if (auto const n = detail::numbers_by(pattern, name)) files.push_back({name, n->first, n->second});
  if (files.empty())
    return error{error_kind::not_found, shown + ": expected files of that name, found none among " +
                                            detail::counted(listing.size(), "file") + "; correct it or the URI"};
  std::sort(files.begin(), files.end(), [](rank_file const& a, rank_file const& b) {
    return std::tie(a.rank, a.part, a.name) < std::tie(b.rank, b.part, b.name);
  });
  for (std::size_t i = 0; i < files.size(); ++i) {
    auto const& f = files[i];
    auto const* before = i ? &files[i - 1] : nullptr;
    bool const same = before && before->rank == f.rank;
    auto const number = [](u32 n) { return std::to_string(n); };
    if (same && before->part == f.part)
      return error{error_kind::config, shown + ": expected one file for rank " + number(f.rank) + " and part " +
                                           number(f.part) + ", found " + detail::shown(before->name) + " and " +
                                           detail::shown(f.name) + "; remove the one that does not belong here"};
    u32 const next = before ? before->rank + 1 : 0;
    if (!same && f.rank != next)
      return error{error_kind::not_found, shown + ": expected a file of rank " + number(next) +
                                              ", found the next of rank " + number(f.rank) +
                                              "; complete the download or upload"};
    if (same ? f.part != before->part + 1 : f.part > 1)
      return error{error_kind::not_found, shown + ": expected part " + number(same ? before->part + 1 : 0) +
                                              " of rank " + number(f.rank) + ", found " + detail::shown(f.name) +
                                              "; complete the download or upload"};
  }
  return files;
}
PENSTOCK_END
