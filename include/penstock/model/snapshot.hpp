#pragma once
#include <concepts>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <penstock/core/bytes.hpp>
#include <penstock/core/result.hpp>
#include <penstock/core/separate.hpp>
#include <penstock/core/uri.hpp>
#include <penstock/format/config.hpp>

PENSTOCK_BEGIN
namespace detail {
struct snapshot_maker;
/// A larger file is taken for data, not for config, tokenizer or processor.
inline constexpr bytes largest_metadata = mebibytes(64);
}  // namespace detail

/// A folder on this machine with a model's config, tokenizer and processor files.
///
/// For a model in a local folder it is that folder; else a copy in a cache, complete and of one version. Only opening a
/// model makes one, so a URI never stands where a directory is wanted. Copies name the same folder. Files of a cache
/// are not to be written.
class local_snapshot {
 public:
  /// Absolute.
  [[nodiscard]] std::filesystem::path const& directory() const& noexcept { return directory_; }
  void directory() const&& = delete;  // guard: snapshot_directory_of_a_temporary

  /// The names of its files, sorted, in nested folders too; never weights, nor files above 64 MiB.
  ///
  /// @errors not_found, access, io
  [[nodiscard]] result<std::vector<std::string>> files() const;

  /// One of its files, whole.
  ///
  /// @param name  relative to the directory: `tokenizer.json`
  /// @param most  in bytes
  /// @errors      not_found; config: a name that leaves the folder, or a file larger than `most`; access; io
  [[nodiscard]] result<std::string> read(std::string_view name, bytes most = mebibytes(256)) const;

 private:  // guard: snapshot_comes_from_opening
  friend struct detail::snapshot_maker;
  explicit local_snapshot(std::filesystem::path directory) : directory_(std::move(directory)) {}
  std::filesystem::path directory_;
};

namespace detail {
/// What makes snapshots: the code that opens models, and nobody else.
struct snapshot_maker {
  static local_snapshot of(std::filesystem::path directory) { return local_snapshot{std::move(directory)}; }
};

/// What people take for a directory.
template <class T>
concept names_a_place =
    std::same_as<T, uri> || std::same_as<T, std::filesystem::path> || std::convertible_to<T const&, std::string_view>;
}  // namespace detail

/// The model's `config.json`, with what `hf_quant_config.json` declares beside it; an empty one where there is none.
///
/// @errors config: as model_config::parse; access, io
[[nodiscard]] result<model_config> read_config(local_snapshot const& from);
/// One file of a snapshot. @errors as local_snapshot::read
[[nodiscard]] result<std::string> read_text(local_snapshot const& from, std::string_view name);
/// Copies the files of a snapshot into a folder, which is made if need be: all of them, or as few as an error allows.
///
/// A new folder appears complete or not at all. In a folder that exists, a file of equal content stays as it is, and one
/// of other content is an error before anything is written.
///
/// @errors io: names the file; access, not_found
result<void> copy_snapshot(local_snapshot const& from, std::filesystem::path const& to);

// guard-begin: uri_is_not_a_directory
struct a_uri_is_not_a_directory__open_the_model_first;
template <detail::names_a_place Place, class Reason = a_uri_is_not_a_directory__open_the_model_first>
result<model_config> read_config(Place const&) = delete;
template <detail::names_a_place Place, class Reason = a_uri_is_not_a_directory__open_the_model_first>
result<std::string> read_text(Place const&, std::string_view) = delete;
template <detail::names_a_place Place, class Reason = a_uri_is_not_a_directory__open_the_model_first>
result<void> copy_snapshot(Place const&, std::filesystem::path const&) = delete;
// guard-end: uri_is_not_a_directory
PENSTOCK_END

#ifndef PENSTOCK_SEPARATE_COMPILATION
#  include <penstock/model/snapshot.ipp>
#endif
