#pragma once
#include <span>
#include <string>
#include <vector>

#include <penstock/core/result.hpp>
#include <penstock/core/separate.hpp>
#include <penstock/format/index.hpp>

PENSTOCK_BEGIN
/// Which files of a checkpoint's folder hold its weights, in natural order.
///
/// With an index: the files that it names, all of which must be there, and no other.
/// Without one: `model.safetensors` alone if it is there; else the files directly in the folder that end in
/// `.safetensors`, leaving out `consolidated*` (another form of the same model) where there are others. Of files that
/// count themselves (`model-00001-of-00003.safetensors`, from 0 or from 1) none may be missing.
///
/// @param listing  the folder's files, relative to it, in any order
/// @param index    or null: the folder has none
/// @errors         not_found: naming every missing file, or no file of weights at all; config: two sets of counted files
[[nodiscard]] result<std::vector<std::string>> weight_files(std::span<std::string const> listing,
                                                            shard_index const* index = nullptr);
PENSTOCK_END

#ifndef PENSTOCK_SEPARATE_COMPILATION
#  include <penstock/format/weight_files.ipp>
#endif
