#pragma once

// The bodies that only declarations stand for elsewhere. An engine that defines PENSTOCK_SEPARATE_COMPILATION (in every
// unit) includes this file in one unit, and <penstock/src_http.hpp> as well where it uses az://; then no other include of
// it reaches simdjson, libcurl, OpenSSL or pugixml, and its units compile faster.
#ifndef PENSTOCK_SEPARATE_COMPILATION
#  error \
      "penstock: <penstock/src.hpp> is for engines that define PENSTOCK_SEPARATE_COMPILATION; without it the bodies are in the headers"
#endif

#include <penstock/device/copy_past_cache.ipp>
#include <penstock/format/config.ipp>
#include <penstock/format/detail/json_tree.ipp>
#include <penstock/format/detail/pattern.ipp>
#include <penstock/format/index.ipp>
#include <penstock/format/quantization.ipp>
#include <penstock/format/safetensors.ipp>
#include <penstock/format/weight_files.ipp>
#include <penstock/model/cache.ipp>
#include <penstock/model/choose.ipp>
#include <penstock/model/disk.ipp>
#include <penstock/model/snapshot.ipp>
#include <penstock/plan/inventory.ipp>
#include <penstock/plan/make_plan.ipp>
#include <penstock/storage/local.ipp>
#include <penstock/storage/memory.ipp>
