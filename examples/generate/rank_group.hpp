#pragma once
#include <algorithm>
#include <barrier>
#include <cstddef>
#include <span>
#include <vector>

namespace generate {
/// What the ranks of one model say to each other: sums, and the best of their candidates. One thread is one rank.
///
/// Every rank calls the same functions in the same order. All ranks get the same bits: a sum is taken in the order of
/// the ranks, whoever comes first.
class rank_group {
 public:
  /// @param widest  the most values that a sum has
  rank_group(std::size_t ranks, std::size_t widest)
      : barrier_(static_cast<std::ptrdiff_t>(ranks)), values_(ranks, std::vector<float>(widest)), candidates_(ranks) {}

  /// A token and how well it fits.
  struct candidate {
    float score;
    std::size_t token;
  };

  [[nodiscard]] std::size_t size() const { return values_.size(); }

  /// Replaces each rank's `values` by the sum over all ranks.
  ///
  /// @blocks until all ranks are here
  void sum(std::size_t rank, std::span<float> values) {
    if (size() == 1) return;
    std::copy(values.begin(), values.end(), values_[rank].begin());
    barrier_.arrive_and_wait();
    std::copy_n(values_[0].begin(), values.size(), values.begin());
    for (std::size_t other = 1; other < size(); ++other)
      for (std::size_t i = 0; i < values.size(); ++i) values[i] += values_[other][i];
    barrier_.arrive_and_wait();  // nobody writes the next sum while somebody reads this one
  }

  /// The best of the ranks' candidates; of equal ones, the least token.
  ///
  /// @blocks until all ranks are here
  candidate best(std::size_t rank, candidate mine) {
    candidates_[rank] = mine;
    barrier_.arrive_and_wait();
    auto const winner = *std::max_element(candidates_.begin(), candidates_.end(), [](auto const& a, auto const& b) {
      return a.score != b.score ? a.score < b.score : a.token > b.token;
    });
    barrier_.arrive_and_wait();
    return winner;
  }

 private:
  std::barrier<> barrier_;
  std::vector<std::vector<float>> values_;  // by rank
  std::vector<candidate> candidates_;       // by rank
};
}  // namespace generate
