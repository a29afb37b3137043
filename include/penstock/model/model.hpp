#pragma once
#include <memory>
#include <vector>

#include <penstock/core/uri.hpp>
#include <penstock/format/checkpoint.hpp>
#include <penstock/format/config.hpp>
#include <penstock/model/snapshot.hpp>
#include <penstock/storage/backend.hpp>

PENSTOCK_BEGIN
/// A model that was opened: what a plan is made from. No tensor byte was read for it.
template <storage_backend S>
struct model {
  penstock::uri uri;   ///< as it was given
  checkpoint weights;  ///< every tensor, and the version of each shard
  std::shared_ptr<std::vector<typename S::object> const>
      objects;              ///< the pinned shards, in the order of weights.shards
  model_config config;      ///< empty where there is no config.json
  local_snapshot snapshot;  ///< config, tokenizer and processor files, in a folder of this machine
};
PENSTOCK_END
