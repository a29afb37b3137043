/// Loads into a GPU are compared, byte by byte, with the same loads into the host: for each folder, tensor-parallel size,
/// slot size and kind of ownership. A machine with a GPU is needed.
///
///     gpu FOLDER...
#include <atomic>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <stdexcept>
#include <stop_token>
#include <thread>

#include <penstock/arch/any_of.hpp>
#include <penstock/arch/as_stored.hpp>
#include <penstock/arch/bert.hpp>
#include <penstock/arch/deepseek.hpp>
#include <penstock/arch/gemma2.hpp>
#include <penstock/arch/gemma3.hpp>
#include <penstock/arch/glm4_moe.hpp>
#include <penstock/arch/llama.hpp>
#include <penstock/arch/mistral.hpp>
#include <penstock/arch/mixtral.hpp>
#include <penstock/arch/qwen2.hpp>
#include <penstock/arch/qwen3.hpp>
#include <penstock/arch/qwen3_moe.hpp>
#include <penstock/device/cuda.hpp>
#include <penstock/pipeline/pipeline.hpp>
#include <penstock/quant/any_of.hpp>
#include <penstock/quant/fp8_block.hpp>
#include <penstock/storage/local.hpp>

using namespace penstock;

namespace {
struct host_policies : defaults {
  using storage = penstock::storage::local;
  using ownership = penstock::ownership::place;
  using quant = penstock::quant::any_of<penstock::quant::fp8_block>;
  using arch = penstock::arch::any_of<penstock::arch::as_stored, penstock::arch::bert, penstock::arch::deepseek_v2,
                                      penstock::arch::deepseek_v3, penstock::arch::gemma2, penstock::arch::gemma3,
                                      penstock::arch::glm4_moe, penstock::arch::llama, penstock::arch::mistral,
                                      penstock::arch::mixtral, penstock::arch::qwen2, penstock::arch::qwen3,
                                      penstock::arch::qwen3_moe>;
};
struct cuda_place : host_policies {
  using device = penstock::device::cuda;
};
struct cuda_own : cuda_place {
  using ownership = penstock::ownership::own<cuda_memory>;
};
struct cuda_borrow : cuda_place {
  using ownership = penstock::ownership::borrow;
};

int wrong = 0, right = 0;
void check(bool good, std::string const& what) {
  ++(good ? right : wrong);
  if (!good) std::printf("WRONG: %s\n", what.c_str());
}
void need(cudaError_t code) {
  if (code != cudaSuccess) throw std::runtime_error(cudaGetErrorString(code));
}

using contents = std::map<std::string, std::vector<std::byte>>;
std::vector<std::byte> on_host(std::byte const* p, std::size_t n) {
  std::vector<std::byte> all(n);
  if (n) need(cudaMemcpy(all.data(), p, n, cudaMemcpyDefault));
  return all;
}

/// Parameters of the odd numbers in one memory, of the even ones in another.
struct places {
  memory_space odd, even;
  std::vector<owned_tensor<cuda_memory>> device;
  std::vector<std::vector<std::byte>> host;
  std::vector<bool> in_host;  ///< what is made of others, and those: steps run in the host
  std::atomic<int> layers{0};

  explicit places(plan const& p, memory_space o, memory_space e)
      : odd(o), even(e), device(p.parameters.size()), host(p.parameters.size()), in_host(p.parameters.size()) {
    for (auto const& one : p.parameters) {
      auto const i = index_of(one.id);
      in_host[i] = one.name.find(".w_kc") != one.name.npos || one.name.find(".w_vc") != one.name.npos ||
                   one.name.find(".kv_b_proj.") != one.name.npos;
      if (space_of(i) == memory_space::host) host[i].resize(one.size.count);
      else device[i] = owned_tensor<cuda_memory>::allocate(one.size).value();
    }
  }
  memory_space space_of(std::size_t i) const { return in_host[i] ? memory_space::host : i % 2 ? odd : even; }
  placement destination(parameter const& p) {
    auto const i = index_of(p.id);
    auto const space = space_of(i);
    return {.at = space == memory_space::host ? host[i].data() : device[i].data(),
            .row_pitch = {},
            .expert_stride = {},
            .space = space};
  }
  void layer_ready(layer_id) { ++layers; }
  contents all(plan const& p) const {
    contents c;
    for (auto const& one : p.parameters) {
      auto const i = index_of(one.id);
      c[one.name] = space_of(i) == memory_space::host ? host[i] : on_host(device[i].data(), one.size.count);
    }
    return c;
  }
};

template <class Policies>
contents placed(std::string const& folder, topology t, bytes slot, memory_space odd, memory_space even) {
  pipeline<Policies> loader;
  auto const m = loader.open(folder).value();
  auto const p = loader.plan(m, t, {.slot = slot}).value();
  places sink(p, odd, even);
  (void)loader.load(p, sink).value();
  return sink.all(p);
}

contents owned(std::string const& folder, topology t, bytes slot) {
  pipeline<cuda_own> loader;
  auto const m = loader.open(folder).value();
  auto const p = loader.plan(m, t, {.slot = slot}).value();
  contents c;
  (void)loader
      .load(p, [&](parameter const& one,
                   owned_tensor<cuda_memory> mine) { c[one.name] = on_host(mine.data(), one.size.count); })
      .value();
  return c;
}

void compare(std::string const& folder) {
  auto const name = std::filesystem::canonical(folder).filename().string();
  for (u32 const tp : {1U, 2U})
    for (u32 rank = 0; rank < tp; ++rank)
      for (bytes const slot : {kibibytes(64), mebibytes(1)}) {
        topology const t{.tp = tp, .rank = rank};
        auto const where = name + " tp " + std::to_string(tp) + " rank " + std::to_string(rank) + " slot " +
                           std::to_string(slot.count);
        using enum memory_space;
        auto const want = placed<host_policies>(folder, t, slot, host, host);
        check(placed<cuda_place>(folder, t, slot, cuda, cuda) == want, where + ": place");
        check(placed<cuda_place>(folder, t, slot, cuda, host) == want, where + ": place, half of it in the host");
        if (name.find("deepseek") == name.npos) check(owned(folder, t, slot) == want, where + ": own");
      }
}

/// A hundred loads leave the device's memory as it was; a cancelled one leaves no copy under way.
void repeat(std::string const& folder) {
  pipeline<cuda_place> loader;
  auto const m = loader.open(folder).value();
  auto const p = loader.plan(m, {}, {.slot = kibibytes(64)}).value();
  places sink(p, memory_space::cuda, memory_space::cuda);
  auto const want = placed<host_policies>(folder, {}, kibibytes(64), memory_space::host, memory_space::host);
  std::size_t before = 0, after = 0, all = 0;
  for (int i = 0; i < 101; ++i) {
    if (i == 1) need(cudaMemGetInfo(&before, &all));
    (void)loader.load(p, sink).value();
  }
  need(cudaMemGetInfo(&after, &all));
  check(before == after, "100 loads took " + std::to_string(static_cast<long>(before) - static_cast<long>(after)) +
                             " bytes of the device");
  check(sink.all(p) == want, "after 101 loads");
  int cancelled = 0;
  for (int i = 0; i < 200; ++i) {
    std::stop_source stop;
    std::jthread canceller([&] {
      std::this_thread::sleep_for(std::chrono::microseconds(i * 20));
      stop.request_stop();
    });
    load_options o;
    o.stop = stop.get_token();
    auto const done = loader.load(p, sink, o);
    cancelled += !done;
    if (!done) check(done.error().kind() == error_kind::cancelled, done.error().message());
    auto const then = sink.all(p);
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    check(sink.all(p) == then, "a copy came after a cancelled load");
  }
  check(cancelled > 0, "no load was cancelled");
  std::printf("%d of 200 loads cancelled\n", cancelled);
}

void errors() {
  device::cuda nobody(99);
  auto const bound = nobody.bind();
  check(!bound && bound.error().kind() == error_kind::io &&
            bound.error().message().find("cudaErrorInvalidDevice") != std::string::npos,
        "a device that is not there");
  std::size_t left = 0, all = 0;
  need(cudaMemGetInfo(&left, &all));
  auto const much = owned_tensor<cuda_memory>::allocate(bytes{2 * all});
  check(!much && much.error().kind() == error_kind::memory, "more memory than there is");
  check(cudaGetLastError() == cudaSuccess, "an error of ours is left to others");
}
}  // namespace

int main(int argc, char** argv) try {
  for (int i = 1; i < argc; ++i) compare(argv[i]);
  if (argc > 1) repeat(argv[1]);
  errors();
  std::printf("%d right, %d wrong\n", right, wrong);
  return wrong || !right;
} catch (std::exception const& e) {
  std::printf("failed: %s\n", e.what());
  return 1;
}
