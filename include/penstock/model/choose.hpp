#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <penstock/core/separate.hpp>
#include <penstock/storage/backend.hpp>

PENSTOCK_BEGIN
namespace detail {
/// `model-2` before `model-10`: runs of digits compare as numbers. A total order: all ranks see the shards alike.
bool natural_less(std::string_view a, std::string_view b) noexcept;

/// Is it weights in one of the usual containers, by its suffix?
bool holds_weights(std::string_view name) noexcept;
/// Config, tokenizer or processor files: all but weights and what version control keeps.
bool is_metadata(std::string_view name) noexcept;

/// Where a checkpoint is: a root, and the one file that the URI names, if it names one.
struct place {
  uri root;
  std::string only;
};
/// A URI that ends in `.safetensors` names that file of its folder. @errors usage: a broken escape in the file's name
result<place> place_of(uri const& given);

/// Which of the listed files are weights.
struct weight_files {
  std::string index;               ///< the index that names them; empty: there is none
  std::vector<std::string> files;  ///< without an index
};
/// The index says it. Without: `model.safetensors` alone, else every `*.safetensors` of the root itself, and those
/// called `consolidated*` only where there are no others.
///
/// @errors not_found: says what was looked for and what is there; config: several indices
result<weight_files> choose_weights(std::span<stored_object const> listed, std::string const& shown);
}  // namespace detail
PENSTOCK_END

#ifndef PENSTOCK_SEPARATE_COMPILATION
#  include <penstock/model/choose.ipp>
#endif
