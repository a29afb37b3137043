/// A checkpoint from a folder in memory into parameters on one GPU, beside the rate at which that GPU takes pinned memory.
///
///     benchmark_gpu_load FOLDER [LANES [SLOT_MIB [ROUNDS]]]
///
/// Parameters are allocated before; all set-up of a load is counted. Prints the best and the median of the rounds.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

#include <penstock/arch/any_of.hpp>
#include <penstock/arch/deepseek.hpp>
#include <penstock/arch/llama.hpp>
#include <penstock/device/cuda.hpp>
#include <penstock/pipeline/pipeline.hpp>
#include <penstock/quant/any_of.hpp>
#include <penstock/quant/fp8_block.hpp>
#include <penstock/storage/local.hpp>

using namespace penstock;

namespace {
struct policies : defaults {
  using storage = penstock::storage::local;
  using ownership = penstock::ownership::place;
  using quant = penstock::quant::any_of<penstock::quant::fp8_block>;
  using arch = penstock::arch::any_of<penstock::arch::llama, penstock::arch::deepseek_v3>;
  using device = penstock::device::cuda;
};

struct parameters_on_device {
  std::vector<owned_tensor<cuda_memory>> memory;
  placement destination(parameter const& p) {
    return {.at = memory[index_of(p.id)].data(), .row_pitch = {}, .expert_stride = {}, .space = memory_space::cuda};
  }
};

double seconds_of(auto&& f) {
  auto const begin = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// GB/s of one large copy after the other out of pinned memory.
double bus() {
  auto const n = mebibytes(256);
  auto from = device::pinned_pages::allocate(n).value();
  auto to = owned_tensor<cuda_memory>::allocate(n).value();
  device::cuda gpu;
  auto stream = gpu.open_stream().value();
  device::cuda::event done;
  double best = 0;
  for (int i = 0; i < 8; ++i) {
    copy_op const op{to.data(), from.data(), static_cast<u32>(n.count), 1, 0, 0};
    auto const t = seconds_of([&] {
      for (int k = 0; k < 4; ++k) stream.copy({&op, 1}).value();
      stream.mark(done).value();
      done.wait().value();
    });
    best = std::max(best, 4 * static_cast<double>(n.count) / t / 1e9);
  }
  return best;
}
}  // namespace

int main(int argc, char** argv) try {
  auto const number = [&](int i, u32 otherwise) { return argc > i ? static_cast<u32>(std::atoi(argv[i])) : otherwise; };
  u32 const lanes = number(2, 15), slot = number(3, 4), rounds = number(4, 5);
  pipeline<policies> loader;
  auto const m = loader.open(argc > 1 ? argv[1] : "").value();
  auto const p = loader.plan(m, {}, {.memory_limit = gibibytes(1), .slot = mebibytes(slot), .lanes = lanes}).value();
  parameters_on_device sink;
  u64 total = 0;
  for (auto const& one : p.parameters) {
    sink.memory.push_back(owned_tensor<cuda_memory>::allocate(one.size).value());
    total += one.size.count;
  }
  std::vector<double> rates;
  for (u32 i = 0; i < rounds; ++i)
    rates.push_back(static_cast<double>(total) / seconds_of([&] { (void)loader.load(p, sink).value(); }) / 1e9);
  std::sort(rates.begin(), rates.end());
  double const rate = bus();
  std::printf(
      "%u lanes, slots of %u MiB: %.1f (%.1f) GB/s of %.2f GB in %zu parameters; pinned copies %.1f GB/s: %.1f %%\n",
      lanes, slot, rates.back(), rates[rates.size() / 2], static_cast<double>(total) / 1e9, p.parameters.size(), rate,
      100 * rates.back() / rate);
} catch (std::exception const& e) {
  std::printf("failed: %s\n", e.what());
  return 1;
}
