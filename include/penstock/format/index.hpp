#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <penstock/core/result.hpp>
#include <penstock/core/separate.hpp>
#include <penstock/format/detail/name_table.hpp>
#include <penstock/format/natural.hpp>
#include <penstock/format/safetensors.hpp>

PENSTOCK_BEGIN
/// Which file owns which tensor: `model.safetensors.index.json`.
///
/// File names are relative to the index's own folder and stay inside it; `metadata` is never looked at.
class shard_index {
 public:
  /// The most that is read of an index.
  static constexpr bytes most = mebibytes(256);

  shard_index() = default;
  /// @param json  the whole file
  /// @param file  its name, for messages
  /// @errors      config: no JSON, above `most`, no weight_map, a name twice, a file outside of the folder;
  ///              memory: no room to parse it
  /// @cost        200,000 names: well below a second
  static result<shard_index> parse(std::span<std::byte const> json, std::string_view file);

  /// In natural order, each once.
  [[nodiscard]] std::vector<std::string> const& files() const& noexcept { return files_; }
  [[nodiscard]] std::size_t tensors() const noexcept { return rows_.size(); }
  /// The name of an entry, in the order of the file.
  [[nodiscard]] std::string_view tensor(u32 entry) const& noexcept {
    return std::string_view{text_}.substr(rows_[entry].first, rows_[entry].size);
  }
  /// The file that owns an entry's tensor, as an index into files().
  [[nodiscard]] u32 file(u32 entry) const noexcept { return rows_[entry].file; }
  /// The entry of a tensor. @returns nothing where the index does not have it
  [[nodiscard]] std::optional<u32> find(std::string_view name) const {
    return table_.find(name, [this](u32 i) { return tensor(i); });
  }
  void files() && = delete;
  void tensor(u32) && = delete;

 private:
  struct row {
    u32 first;  // in text_
    u32 size;
    u32 file;
  };
  friend struct index_reader;

  std::string text_;  // the tensors' names
  std::vector<row> rows_;
  std::vector<std::string> files_;
  detail::name_table table_;
};

/// Puts the tensors of parsed shards into a checkpoint: each tensor once, from the file that owns it.
///
/// With an index, a tensor that it gives to another file, or to none, is left out and counted in `into.ignored`.
///
/// @param into     `shards[i].name` is the file of `headers[i]`; its tensors and count are replaced
/// @param headers  tensor.shard == i in headers[i]
/// @param index    or null: the checkpoint has none
/// @errors         format: the index promises a tensor that its file lacks; without an index, a tensor in two files of one rank
[[nodiscard]] result<void> collect_tensors(checkpoint& into, std::vector<shard_header> headers,
                                           shard_index const* index = nullptr);
PENSTOCK_END

#ifndef PENSTOCK_SEPARATE_COMPILATION
#  include <penstock/format/index.ipp>
#endif
