#pragma once
#include <span>
#include <string>
#include <string_view>

#include <penstock/core/result.hpp>
#include <penstock/core/separate.hpp>
#include <penstock/core/uri.hpp>

PENSTOCK_BEGIN
namespace detail {
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

/// The index of a folder: `model.safetensors.index.json`; without it and without `model.safetensors`, the only other
/// `*.safetensors.index.json`, those called `consolidated*` only where there is no other. @returns empty: there is none
///
/// @errors config: several
result<std::string> index_of_folder(std::span<std::string const> listed, std::string const& shown);
/// The names of a listing, for a message: ten at most.
std::string some_of(std::span<std::string const> names);
}  // namespace detail
PENSTOCK_END

#ifndef PENSTOCK_SEPARATE_COMPILATION
#  include <penstock/model/choose.ipp>
#endif
