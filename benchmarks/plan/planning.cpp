/// What a plan costs beyond matching the names of its tensors, for a checkpoint of real size: headers over holes will do.
///
///   planning FOLDER [TP EP PP]...      FOLDER: of `penstock synth deepseek_v3 FOLDER --sparse`, say
///
/// All sides run in turn, in one process; compare the columns of one run. CPU time, best and median of the rounds.
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <penstock/arch/deepseek.hpp>
#include <penstock/pipeline/pipeline.hpp>
#include <penstock/plan/bound_map.hpp>
#include <penstock/quant/fp8_block.hpp>
#include <penstock/storage/local.hpp>

namespace {
using namespace penstock;

struct policies : defaults {
  using storage = penstock::storage::local;
  using ownership = penstock::ownership::place;
  using quant = penstock::quant::any_of<penstock::quant::fp8_block>;
  using arch = penstock::arch::deepseek_v3;
};

double cpu_now() {
  rusage u;
  ::getrusage(RUSAGE_SELF, &u);
  return static_cast<double>(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
         1e-6 * static_cast<double>(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}
template <class F>
double seconds_of(F&& f) {
  double const before = cpu_now();
  f();
  return cpu_now() - before;
}
struct times {
  std::vector<double> all{};
  double best() const { return *std::min_element(all.begin(), all.end()); }
  double median() {
    std::nth_element(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2), all.end());
    return all[all.size() / 2];
  }
};
[[noreturn]] void stop(error const& e) {
  std::fprintf(stderr, "planning: %s\n", e.what());
  std::exit(1);
}
}  // namespace

int main(int argc, char** argv) {
  pipeline<policies> loader;
  auto const model = loader.open(argc > 1 ? argv[1] : "");
  if (!model) stop(model.error());
  auto const& weights = model->weights;
  constexpr auto map = weight_map_of<arch::deepseek_v3, quant::fp8_block>::view();
  auto const bound = detail::bound_map::bind(map, model->config);
  if (!bound) stop(bound.error());

  std::vector<topology> splits;
  for (int i = 2; i + 2 < argc; i += 3) {
    auto const number = [&](int at) { return static_cast<u32>(std::atoi(argv[at])); };
    splits.push_back({.tp = number(i), .ep = number(i + 1), .pp = number(i + 2)});
  }
  if (splits.empty()) splits = {{.tp = 8}, {.tp = 8, .ep = 8}, {.tp = 16}, {.tp = 8, .pp = 2}};
  std::vector<times> plans(splits.size());
  std::vector<plan> made(splits.size());
  times names;
  for (int round = 0; round < 9; ++round) {
    u64 found = 0;
    names.all.push_back(seconds_of([&] {
      for (auto const& t : weights.tensors) found += bound->match(t.name).has_value();
    }));
    if (found != weights.tensors.size()) stop({error_kind::plan, "a tensor was not matched"});
    for (std::size_t i = 0; i < splits.size(); ++i)
      plans[i].all.push_back(seconds_of([&] {
        auto p = make_plan(weights, model->config, map, splits[i]);
        if (!p) stop(p.error());
        made[i] = *std::move(p);
      }));
  }
  std::printf("%zu tensors; names alone: best %.1f ms, median %.1f ms\n", weights.tensors.size(), 1e3 * names.best(),
              1e3 * names.median());
  std::printf("%4s %4s %4s %9s %9s %9s %9s %8s %8s %12s\n", "tp", "ep", "pp", "reads", "copies", "best ms", "median ms",
              "x names", "median", "bytes a copy");
  for (std::size_t i = 0; i < splits.size(); ++i) {
    auto const& p = made[i];
    auto const size = p.reads.size() * sizeof(plan_read) + p.copies.size() * sizeof(plan_copy);
    std::printf("%4u %4u %4u %9zu %9zu %9.1f %9.1f %8.1f %8.1f %12.1f\n", splits[i].tp, splits[i].ep, splits[i].pp,
                p.reads.size(), p.copies.size(), 1e3 * plans[i].best(), 1e3 * plans[i].median(),
                plans[i].best() / names.best(), plans[i].median() / names.median(),
                static_cast<double>(size) / static_cast<double>(p.copies.size()));
  }
}
