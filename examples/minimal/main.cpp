// An engine in forty lines: a Llama-shaped model, every rank in a thread of its own, into memory of the engine's.
#include <penstock/arch/llama.hpp>
#include <penstock/pipeline/pipeline.hpp>
#include <penstock/storage/any.hpp>

#include <cstdio>
#include <cstdlib>
#include <thread>

struct my_policies : penstock::defaults {
  using storage = penstock::storage::any;        // az://, a folder, ...: by the URI
  using ownership = penstock::ownership::place;  // straight to addresses that the engine names
  using quant = penstock::quant::none;           // plain numbers; without this line nothing compiles
  using arch = penstock::arch::llama;
};

struct rank_memory {  // the sink: where each parameter of one rank goes
  std::vector<std::vector<std::byte>> parameters;
  penstock::placement destination(penstock::parameter const& p) {
    return {.at = parameters[index_of(p.id)].data(), .row_pitch = {}, .expert_stride = {}};
  }
  void layer_ready(penstock::layer_id layer) { std::printf("layer %u is complete\n", index_of(layer)); }
};

void say(penstock::error const& e) { std::fprintf(stderr, "%s: %s\n", name_of(e.kind()).data(), e.what()); }

int main(int argc, char** argv) {
  unsigned const tp = argc > 2 ? static_cast<unsigned>(std::atoi(argv[2])) : 1;
  penstock::pipeline<my_policies> loader;
  auto const model = loader.open(argc > 1 ? argv[1] : "");  // pinned; headers only
  if (!model) return say(model.error()), 1;
  std::vector<std::jthread> ranks;
  for (unsigned rank = 0; rank < tp; ++rank)
    ranks.emplace_back([&, rank] {
      auto const plan = loader.plan(*model, {.tp = tp, .rank = rank}, {.memory_limit = penstock::mebibytes(64)});
      if (!plan) return say(plan.error());
      rank_memory mine;
      for (auto const& p : plan->parameters) mine.parameters.emplace_back(p.size.count);
      if (auto const report = loader.load(*plan, mine); !report) say(report.error());
    });
}
