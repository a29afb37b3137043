/// What a plan costs beyond matching the names of its tensors, for a checkpoint of real size: headers over holes will do.
///
///   planning FOLDER [TP EP PP]... [--rounds N] [--json FILE]
///
/// FOLDER: of `penstock synth deepseek_v3 FOLDER --sparse`, say.
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <penstock/arch/deepseek.hpp>
#include <penstock/pipeline/pipeline.hpp>
#include <penstock/plan/bound_map.hpp>
#include <penstock/quant/fp8_block.hpp>
#include <penstock/storage/local.hpp>
#include "../compare.hpp"

namespace {
using namespace penstock;

struct policies : defaults {
  using storage = penstock::storage::local;
  using ownership = penstock::ownership::place;
  using quant = penstock::quant::any_of<penstock::quant::fp8_block>;
  using arch = penstock::arch::deepseek_v3;
};

[[noreturn]] void stop(error const& e) {
  std::fprintf(stderr, "planning: %s\n", e.what());
  std::exit(1);
}
}  // namespace

int main(int argc, char** argv) {
  pipeline<policies> loader;
  benchmarks::arguments const options(argc, argv);
  auto const& own = options.own;
  auto const model = loader.open(own.empty() ? "" : own[0]);
  if (!model) stop(model.error());
  auto const& weights = model->weights;
  constexpr auto map = weight_map_of<arch::deepseek_v3, quant::fp8_block>::view();
  auto const bound = detail::bound_map::bind(map, model->config);
  if (!bound) stop(bound.error());

  std::vector<topology> splits;
  for (std::size_t i = 1; i + 2 < own.size(); i += 3) {
    auto const number = [&](std::size_t at) { return static_cast<u32>(std::atoi(own[at].c_str())); };
    splits.push_back({.tp = number(i), .ep = number(i + 1), .pp = number(i + 2)});
  }
  if (splits.empty()) splits = {{.tp = 8}, {.tp = 8, .ep = 8}, {.tp = 16}, {.tp = 8, .pp = 2}};
  benchmarks::comparison times("planning one rank", 1, "run");
  times.add("matching the names alone", [&] {
    u64 found = 0;
    for (auto const& t : weights.tensors) found += bound->match(t.name).has_value();
    if (found != weights.tensors.size()) stop({error_kind::plan, "a tensor was not matched"});
  });
  std::vector<plan> made(splits.size());
  auto const label = [&](std::size_t i) {
    auto const& at = splits[i];
    return "tp " + std::to_string(at.tp) + ", ep " + std::to_string(at.ep) + ", pp " + std::to_string(at.pp);
  };
  for (std::size_t i = 0; i < splits.size(); ++i)
    times.add(label(i),
              [&, i] {
                auto p = make_plan(weights, model->config, map, splits[i]);
                if (!p) stop(p.error());
                made[i] = *std::move(p);
              },
              {.throughput = 0, .cpu = 5});
  times.run(options);
  for (std::size_t i = 0; i < splits.size(); ++i) {
    auto const& p = made[i];
    auto const size = p.reads.size() * sizeof(plan_read) + p.copies.size() * sizeof(plan_copy);
    std::printf("  %s: %zu reads, %zu copies, %.1f bytes a copy\n", label(i).c_str(), p.reads.size(), p.copies.size(),
                static_cast<double>(size) / static_cast<double>(p.copies.size()));
  }
}
