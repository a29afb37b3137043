#pragma once
// Sides that do the same work, run by turns in one process, and their ratios to the first one.
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace benchmarks {
/// CPU seconds of this process so far, user and system.
inline double cpu_seconds() {
  rusage u{};
  ::getrusage(RUSAGE_SELF, &u);
  auto const s = [](timeval const& t) { return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec); };
  return s(u.ru_utime) + s(u.ru_stime);
}
inline double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// What all benchmarks take: `--rounds N`, `--json FILE`; the rest are the program's own.
struct arguments {
  int rounds = 11;
  std::FILE* json = nullptr;  ///< one object a line is appended for each side
  std::vector<std::string> own{};

  arguments(int argc, char** argv) {
    for (int i = 1; i < argc; ++i) {
      if (!std::strcmp(argv[i], "--rounds") && i + 1 < argc) rounds = std::max(1, std::atoi(argv[++i]));
      else if (!std::strcmp(argv[i], "--json") && i + 1 < argc) json = std::fopen(argv[++i], "a");
      else own.emplace_back(argv[i]);
    }
  }
  arguments(arguments const&) = delete;
  arguments& operator=(arguments const&) = delete;
  ~arguments() {
    if (json) std::fclose(json);
  }
};

/// What a side must reach against the first; 0: nothing.
struct must {
  double throughput = 0;  ///< least ratio
  double cpu = 0;         ///< greatest ratio
};

/// One table. The first side that is added is what the others are measured against.
///
/// Other work on the machine only adds time, so the best of a side is nearest to what it costs; the median of the
/// ratios within a round shows how far to trust it.
class comparison {
 public:
  /// @param amount  of work in one run, in `unit`s: "GB", "copies"
  comparison(std::string name, double amount, std::string unit)
      : name_(std::move(name)), unit_(std::move(unit)), amount_(amount) {}

  template <class F>
  void add(std::string label, F run, must m = {}) {
    sides_.push_back({std::move(label), std::move(run), m, {}, {}});
  }

  /// Every side once a round, forwards and backwards by turns; then the table.
  void run(arguments const& a) {
    for (auto& s : sides_) s.run();  // warm: pages, connections, code
    for (int round = 0; round < a.rounds; ++round)
      for (std::size_t i = 0; i < sides_.size(); ++i) {
        auto& s = sides_[round % 2 ? sides_.size() - 1 - i : i];
        double const wall = wall_seconds(), cpu = cpu_seconds();
        s.run();
        s.wall.push_back(wall_seconds() - wall);
        s.cpu.push_back(cpu_seconds() - cpu);
      }
    std::printf("%s: %d rounds, best and (median)\n", name_.c_str(), a.rounds);
    for (auto const& s : sides_) print(s, a.json);
    std::fflush(stdout);
  }

 private:
  struct side {
    std::string name;
    std::function<void()> run;
    must least;
    std::vector<double> wall, cpu;
  };

  static double best(std::vector<double> const& v) { return *std::min_element(v.begin(), v.end()); }
  /// The median of a[i] / b[i].
  static double median_ratio(std::vector<double> a, std::vector<double> const& b) {
    for (std::size_t i = 0; i < a.size(); ++i) a[i] /= b[i];
    std::nth_element(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(a.size() / 2), a.end());
    return a[a.size() / 2];
  }

  void print(side const& s, std::FILE* json) const {
    auto const& base = sides_.front();
    double const cpu = best(s.cpu) / best(base.cpu), cpu_median = median_ratio(s.cpu, base.cpu);
    double const rate = best(base.wall) / best(s.wall), rate_median = median_ratio(base.wall, s.wall);
    std::printf("  %-34s %8.4g CPU s/%s  CPU %.2f (%.2f)  throughput %.2f (%.2f)", s.name.c_str(),
                best(s.cpu) / amount_, unit_.c_str(), cpu, cpu_median, rate, rate_median);
    if (s.least.throughput > 0)
      std::printf("  must: throughput >= %.2f: %s", s.least.throughput, rate >= s.least.throughput ? "met" : "MISSED");
    if (s.least.cpu > 0) std::printf("  must: CPU <= %.2f: %s", s.least.cpu, cpu <= s.least.cpu ? "met" : "MISSED");
    std::printf("\n");
    if (json)
      std::fprintf(
          json,
          "{\"benchmark\":\"%s\",\"side\":\"%s\",\"rounds\":%zu,\"unit\":\"%s\",\"cpu_seconds_per_unit\":%.6g,"
          "\"wall_seconds_per_unit\":%.6g,\"cpu_ratio\":%.4f,\"cpu_ratio_median\":%.4f,\"throughput_ratio\":%.4f,"
          "\"throughput_ratio_median\":%.4f,\"must_throughput\":%.2f,\"must_cpu\":%.2f}\n",
          name_.c_str(), s.name.c_str(), s.cpu.size(), unit_.c_str(), best(s.cpu) / amount_, best(s.wall) / amount_,
          cpu, cpu_median, rate, rate_median, s.least.throughput, s.least.cpu);
  }

  std::string name_, unit_;
  double amount_;
  std::vector<side> sides_;
};
}  // namespace benchmarks
