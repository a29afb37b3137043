#pragma once
#include <string>

#include <penstock/core/result.hpp>

#include "arguments.hpp"

/// The config.json of a synthetic checkpoint: that of the preset, with other numbers of layers and experts, other widths
/// and another quantisation where the options say so.
///
/// Widths shrink in steps that keep them good for one, two, four and eight ranks, and for blocks of 128, where the real
/// ones are: see `widths` and `heads` in the source. What else must agree with them is made to agree: first_k_dense_replace,
/// the groups of experts, head_dim. @errors usage
penstock::result<std::string> synth_config(arguments const& a);
