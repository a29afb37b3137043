#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <penstock/core/result.hpp>
#include <penstock/core/separate.hpp>
#include <penstock/format/checkpoint.hpp>

PENSTOCK_BEGIN
/// How large and how odd a header may be. The defaults suit files from strangers.
///
/// @source safetensors 0.8: its reader refuses headers above 100,000,000 bytes
struct header_limits {
  bytes header{100'000'000};
  u64 tensors = 2'000'000;
  bool allow_trailing = false;        ///< bytes after the last tensor
  bool allow_unknown_fields = false;  ///< fields of a tensor beside dtype, shape and data_offsets
};

/// What a shard says of itself: its tensors by offset, and its metadata (never trusted for anything).
struct shard_header {
  std::vector<checkpoint_tensor> tensors;
  std::vector<std::pair<std::string, std::string>> metadata;
};

/// The length of the header, from the first eight bytes of the file. Checked before anybody reads or allocates it.
///
/// The header's text is bytes [8, 8 + length) of the file; the tensors' data begin right behind it, aligned or not.
///
/// @param first  the first eight bytes of the file, or what there is of them
/// @param size   of the whole file
/// @param file   its name, for messages
/// @errors       format: file too short, header above the limit or longer than the file
[[nodiscard]] result<bytes> header_length(std::span<std::byte const> first, bytes size, std::string_view file,
                                          header_limits const& limits = {});

/// Reads a header, and checks it against the size of its file: nothing it says is believed.
///
/// Every byte of the data section belongs to exactly one tensor; each tensor has the size of its shape and dtype.
/// Names and fields occur once. A name may be any text without NUL; it is never a path. Absent, null and empty
/// `__metadata__` are the same.
///
/// @param json   the header's text alone, as many bytes as header_length says
/// @param size   of the whole file
/// @param shard  goes into each tensor
/// @errors       format: with file, tensor, what was expected and what was found; memory: no room to parse it
/// @threads      any                @blocks  never
/// @cost         one copy of the text and about ten times its size in address space while it runs; one string a name
/// @source       safetensors format, README of huggingface/safetensors
[[nodiscard]] result<shard_header> parse_header(std::span<std::byte const> json, bytes size, object_id shard,
                                                std::string_view file, header_limits const& limits = {});
PENSTOCK_END

#ifndef PENSTOCK_SEPARATE_COMPILATION
#  include <penstock/format/safetensors.ipp>
#endif
