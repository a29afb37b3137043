#pragma once
#include <penstock/arch/as_stored.hpp>
#include <penstock/arch/bert.hpp>
#include <penstock/arch/deepseek.hpp>
#include <penstock/arch/gemma2.hpp>
#include <penstock/arch/gemma3.hpp>
#include <penstock/arch/glm4_moe.hpp>
#include <penstock/arch/gpt_oss.hpp>
#include <penstock/arch/kimi_k25.hpp>
#include <penstock/arch/llama.hpp>
#include <penstock/arch/mistral.hpp>
#include <penstock/arch/mixtral.hpp>
#include <penstock/arch/qwen2.hpp>
#include <penstock/arch/qwen3.hpp>
#include <penstock/arch/qwen3_moe.hpp>
#include <penstock/arch/qwen_vl.hpp>
#include <penstock/pipeline/pipeline.hpp>
#include <penstock/quant/fp8_block.hpp>
#include <penstock/quant/mxfp4.hpp>
#include <penstock/quant/wna16.hpp>
#include <penstock/storage/any.hpp>

#include "arguments.hpp"
#include "trace.hpp"

/// Every store. A profile of the AWS tools may name a program that gives credentials, as for those tools.
struct every_store : penstock::storage::any {
  every_store() : any(penstock::storage::s3{with_programs()}) {}

 private:
  static penstock::storage::s3_options with_programs() {
    penstock::storage::s3_options o;
    o.account.identity.allow_process = true;
    return o;
  }
};

/// The policies of this program: every store, every architecture, every scheme; what differs between its three loaders
/// is what the sink receives.
struct program_policies : penstock::defaults {
  using storage = every_store;
  using trace = tracing;
  using ownership = penstock::ownership::place;
  using quant = penstock::quant::any_of<penstock::quant::fp8_block, penstock::quant::mxfp4, penstock::quant::wna16,
                                        penstock::quant::wna16_channel>;
  using arch = penstock::arch::any_of<
      penstock::arch::as_stored, penstock::arch::bert, penstock::arch::deepseek_v2, penstock::arch::deepseek_v3,
      penstock::arch::deepseek_v3_mtp, penstock::arch::gemma2, penstock::arch::gemma3, penstock::arch::glm4_moe,
      penstock::arch::gpt_oss, penstock::arch::kimi_k25, penstock::arch::llama, penstock::arch::mistral,
      penstock::arch::mixtral, penstock::arch::qwen2, penstock::arch::qwen3, penstock::arch::qwen3_moe,
      penstock::arch::qwen2_vl, penstock::arch::qwen2_5_vl, penstock::arch::qwen3_vl>;
};
struct borrow_policies : program_policies {
  using ownership = penstock::ownership::borrow;
};
struct own_policies : program_policies {
  using ownership = penstock::ownership::own<penstock::host_memory>;
};

// The subcommands. Each does its work, or returns why not.
penstock::result<void> inspect(arguments const& a);
penstock::result<void> show_plan(arguments const& a);
penstock::result<void> load(arguments const& a);
penstock::result<void> fetch(arguments const& a);
penstock::result<void> synth(arguments const& a);

/// Prints "penstock: note: ..." on standard error.
void print_notice(std::string_view text);

/// What all of them begin with: the model, opened, with notices on standard error.
template <class Policies>
penstock::result<typename penstock::pipeline<Policies>::model_type> open_model_of(penstock::pipeline<Policies>& loader,
                                                                                  arguments const& a,
                                                                                  std::stop_token stop = {}) {
  penstock::open_options o;
  o.watch.on_notice = print_notice;
  o.stop = std::move(stop);
  o.rank_files = a.rank_files;
  return loader.open(a.uri, o);
}

/// One plan for each of this process's ranks, which share the memory limit.
template <class Policies>
penstock::result<std::vector<typename penstock::pipeline<Policies>::plan_type>> plans_of(
    penstock::pipeline<Policies> const& loader, typename penstock::pipeline<Policies>::model_type const& model,
    arguments const& a) {
  auto const ranks = ranks_of(a);
  if (!ranks) return ranks.error();
  auto const limit = parse_bytes("--memory-limit", a.memory_limit);
  if (!limit) return limit.error();
  penstock::plan_request request;
  request.arch = a.arch, request.draft = a.draft, request.quant = a.quant;
  request.memory_limit = penstock::bytes{limit->count / ranks->size()};
  if (!a.slot.empty()) {
    auto const slot = parse_bytes("--slot", a.slot);
    if (!slot) return slot.error();
    if (!slot->count)
      return penstock::error{penstock::error_kind::usage, "--slot: expected a size above zero, found 0"};
    request.slot = *slot;
  }
  std::vector<typename penstock::pipeline<Policies>::plan_type> plans;
  for (auto const& at : *ranks) {
    auto p = loader.plan(model, at, request);
    if (!p && ranks->size() > 1 && p.error().message().find("memory limit") != std::string::npos)
      return penstock::error{p.error().kind(), p.error().message() + " (" + std::to_string(ranks->size()) +
                                                   " ranks share --memory-limit " + a.memory_limit + ")"};
    if (!p) return std::move(p).error();
    plans.push_back(*std::move(p));
  }
  return plans;
}
