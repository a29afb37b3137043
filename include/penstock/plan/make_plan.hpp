#pragma once
#include <span>

#include <penstock/arch/map_view.hpp>
#include <penstock/core/topology.hpp>
#include <penstock/format/checkpoint.hpp>
#include <penstock/format/config.hpp>
#include <penstock/plan/memory.hpp>
#include <penstock/plan/plan.hpp>

PENSTOCK_BEGIN
/// What one rank reads, and where each byte of it goes.
///
/// A pure function of its arguments: no tensor byte is read, the same arguments give the same plan. Every element of
/// every parameter is written exactly once, or there is no plan.
///
/// @param map   made by `weight_map_of<Arch, Schemes...>::view()`, and by nothing else: no plan without quant schemes
/// @errors config: config.json lacks a number, or contradicts the tensors, or declares a quantisation that no scheme of
///         the map reads; plan: sizes that do not divide, unknown, missing or duplicate tensors, a limit or slot too small
/// @threads any; the arguments are only read
/// @cost   one pass over each tensor's name and one look-up, then O(reads)
result<plan> make_plan(checkpoint const& weights, model_config const& config, map_view const& map, topology const& at,
                       plan_options const& options = {});
/// The same for several models of one checkpoint, such as a model and its draft: what both need is read once. The first
/// is divided into pipeline stages; the others are on the last stage. See plan.models.
result<plan> make_plan(checkpoint const& weights, model_config const& config, std::span<map_view const> maps,
                       topology const& at, plan_options const& options = {});
PENSTOCK_END

#ifndef PENSTOCK_SEPARATE_COMPILATION
#  include <penstock/plan/make_plan.ipp>
#endif
