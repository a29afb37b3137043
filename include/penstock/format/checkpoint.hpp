#pragma once
#include <optional>
#include <string>
#include <vector>

#include <penstock/core/index.hpp>
#include <penstock/core/shape.hpp>

PENSTOCK_BEGIN
/// A named tensor in a shard.
struct checkpoint_tensor {
  std::string name;
  dtype type{};
  penstock::shape shape;
  object_id shard{};  ///< into checkpoint.shards
  byte_range where;   ///< in the shard's file, header included
};

/// One file of weights, pinned.
struct shard {
  std::string name;  ///< relative to the checkpoint's root
  bytes size;
  std::string version;        ///< what the storage saw: an ETag, or size, time and inode
  std::optional<u32> rank{};  ///< whose parameters it holds, where each rank has files of its own
};

/// The tensors of the checkpoint at one URI: shards in natural order of their names, tensors by (shard, offset).
///
/// A plain value: no descriptor, no connection, no tensor bytes.
struct checkpoint {
  std::string uri;  ///< as shown to people: without query
  std::vector<shard> shards;
  std::vector<checkpoint_tensor> tensors;
  u64 ignored = 0;  ///< tensors in the shards that the index gives to another file, or to none
};
PENSTOCK_END
