#pragma once
#include <string>
#include <vector>

#include <penstock/core/result.hpp>
#include <penstock/plan/inventory.hpp>

/// A file of a synthetic checkpoint.
struct synth_shard {
  std::string name;
  std::vector<penstock::inventory_tensor> tensors;  ///< in the order of their data
};

/// Deals tensors out to `count` files of about equal size, layer by layer. In a file the widest dtypes come first, and
/// among these names decide, as in files of the safetensors library.
///
/// @param count    0: one for each 4 GiB
/// @errors usage: more files than tensors
penstock::result<std::vector<synth_shard>> synth_shards(std::vector<penstock::inventory_tensor> tensors,
                                                        std::size_t count);

/// The same, but what lies together in a model lies apart: neighbours in a module are in different files where there are
/// two, and the order in a file is that of a hash. The seed decides.
penstock::result<std::vector<synth_shard>> synth_shuffled_shards(std::vector<penstock::inventory_tensor> tensors,
                                                                 std::size_t count, penstock::u64 seed);

/// What a file begins with: the length of its header, and the header. @source safetensors format
std::string header_of(synth_shard const& s);
/// model.safetensors.index.json
std::string index_of(std::vector<synth_shard> const& shards);
