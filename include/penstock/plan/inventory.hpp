#pragma once
#include <array>
#include <string>
#include <vector>

#include <penstock/core/result.hpp>
#include <penstock/core/separate.hpp>
#include <penstock/core/shape.hpp>
#include <penstock/format/config.hpp>
#include <penstock/plan/schemes.hpp>

PENSTOCK_BEGIN
/// A tensor that a checkpoint has by its config.
struct inventory_tensor {
  std::string name;
  dtype type{};
  penstock::shape shape;
  bytes size;
  std::array<u64, 2> says{};  ///< the linear's N and K, where it is a note of them
};

/// A map read backwards: the tensors that a checkpoint with this config has, in the order of the map, also those that the
/// map knows and does not want (a draft model's layers). What may be absent is left out.
///
/// @param quant   a scheme of the map; empty: what the config declares
/// @param floats  what is stored where the map says any float: BF16, F16 or F32
/// @errors config: a number is missing, a declared quantisation is none of the map's schemes; usage; plan: sizes that the
///         scheme cannot store
[[nodiscard]] result<std::vector<inventory_tensor>> inventory_of(map_view const& map, model_config const& config,
                                                                 std::string_view quant = {},
                                                                 dtype floats = dtype::bf16);
PENSTOCK_END

#ifndef PENSTOCK_SEPARATE_COMPILATION
#  include <penstock/plan/inventory.ipp>
#endif
