#include "../../../examples/generate/rank_group.hpp"

#include <boost/test/unit_test.hpp>
#include <thread>
#include <vector>

namespace {
/// Runs `body(rank)` on a thread for each rank.
template <class Body>
void on_ranks(std::size_t ranks, Body body) {
  std::vector<std::thread> threads;
  for (std::size_t r = 0; r < ranks; ++r) threads.emplace_back([&body, r] { body(r); });
  for (auto& t : threads) t.join();
}
}  // namespace

BOOST_AUTO_TEST_SUITE(generate_rank_group)

BOOST_AUTO_TEST_CASE(every_rank_gets_the_same_sum_however_often) {
  constexpr std::size_t ranks = 4, rounds = 500;
  generate::rank_group group{ranks, 3};
  std::vector<int> wrong(ranks);
  on_ranks(ranks, [&](std::size_t r) {
    for (std::size_t round = 0; round < rounds; ++round) {
      auto const mine = static_cast<float>(r + round);
      std::vector<float> v{mine, 2 * mine, -mine};
      group.sum(r, v);
      auto const all = static_cast<float>(0 + 1 + 2 + 3 + ranks * round);
      wrong[r] += v != std::vector<float>{all, 2 * all, -all};
    }
  });
  BOOST_TEST(wrong == std::vector<int>(ranks), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_sum_is_taken_in_the_order_of_the_ranks) {
  // 1e8 + 1 loses the 1, so only this order gives 1
  generate::rank_group group{3, 1};
  std::vector<float> const parts{1e8F, -1e8F, 1};
  std::vector<float> sums(3);
  on_ranks(3, [&](std::size_t r) {
    std::vector<float> v{parts[r]};
    group.sum(r, v);
    sums[r] = v[0];
  });
  BOOST_TEST(sums == std::vector<float>(3, 1), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(the_best_candidate_wins_and_of_equal_ones_the_least_token) {
  generate::rank_group group{3, 1};
  std::vector<std::size_t> highest(3), equal(3);
  on_ranks(3, [&](std::size_t r) {
    highest[r] = group.best(r, {r == 1 ? 5.0F : -1.0F, 10 * r}).token;
    equal[r] = group.best(r, {2.0F, 30 - 10 * r}).token;
  });
  BOOST_TEST(highest == std::vector<std::size_t>(3, 10), boost::test_tools::per_element());
  BOOST_TEST(equal == std::vector<std::size_t>(3, 10), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_rank_alone_keeps_its_values) {
  generate::rank_group group{1, 2};
  std::vector<float> v{3, 4};
  group.sum(0, v);
  BOOST_TEST((v == std::vector<float>{3, 4}));
  BOOST_TEST(group.best(0, {1.0F, 7}).token == 7u);
}

BOOST_AUTO_TEST_SUITE_END()
