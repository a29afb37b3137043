#pragma once
#include <filesystem>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <penstock/core/progress.hpp>
#include <penstock/model/disk.hpp>

PENSTOCK_BEGIN
namespace detail {
/// A file of a snapshot, as the store showed it.
struct snapshot_file {
  std::string name;
  bytes size;
  std::string version;
};

/// The folder name of a snapshot: the readable part of the URI and a hash of URI, names, sizes and versions.
std::string snapshot_name(std::string_view uri, std::vector<snapshot_file> const& files);

/// Where snapshots are kept: what was chosen, $PENSTOCK_CACHE, $XDG_CACHE_HOME/penstock or $HOME/.cache/penstock.
///
/// @errors io: none of them is set
result<std::filesystem::path> cache_folder(std::string const& chosen);

/// One snapshot in a cache that many processes share: it is there, or is to be written and committed.
///
/// Its folder holds `files/` and a manifest (URI, names, sizes, versions, times). It is made beside its place and gets
/// its name when it is complete; a lock lets one process fetch while others wait. What does not match its manifest is
/// left alone, and the snapshot goes by another name. So a folder that somebody uses never changes.
class cached_snapshot {
 public:
  /// @param uri    as shown: without query
  /// @param files  sorted by name; names that were checked
  /// @errors io: the cache cannot be written; config: a name is both file and folder; cancelled
  /// @blocks while another process fetches the same
  static result<cached_snapshot> open(std::filesystem::path const& cache, std::string uri,
                                      std::vector<snapshot_file> files, observer const& watch,
                                      std::stop_token const& stop);

  /// Is there anything to write?
  [[nodiscard]] bool complete() const noexcept { return !fresh_; }
  /// Where its files are, once it is complete.
  [[nodiscard]] std::filesystem::path directory() const { return place_ / "files"; }
  /// @errors io
  result<void> write(std::size_t file, bytes first, std::span<std::byte const> content);
  /// Makes it visible. @errors io
  result<void> commit();

 private:
  cached_snapshot(std::filesystem::path first, std::string uri, std::vector<snapshot_file> files);
  result<void> lock(observer const& watch, std::stop_token const& stop);
  result<bool> find();
  result<void> begin();
  std::optional<std::string> manifest(std::filesystem::path const& directory) const;

  std::filesystem::path first_, place_;  // `place_` is `first_`, or `first_` with a number
  std::string uri_;
  std::vector<snapshot_file> files_;
  descriptor lock_;
  std::optional<temporary_folder> fresh_;
};
}  // namespace detail
PENSTOCK_END

#ifndef PENSTOCK_SEPARATE_COMPILATION
#  include <penstock/model/cache.ipp>
#endif
