#pragma once
// Everything that needs no outside library but simdjson. Stores over HTTP are separate: <penstock/storage/any.hpp>.
// IWYU pragma: begin_exports
#include <penstock/arch/as_stored.hpp>
#include <penstock/arch/deepseek.hpp>
#include <penstock/arch/llama.hpp>
#include <penstock/pipeline/pipeline.hpp>
#include <penstock/plan/describe.hpp>
#include <penstock/quant/any_of.hpp>
#include <penstock/quant/fp8_block.hpp>
#include <penstock/storage/any_of.hpp>
#include <penstock/storage/local.hpp>
#include <penstock/storage/memory.hpp>
// IWYU pragma: end_exports
