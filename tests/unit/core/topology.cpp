#include <boost/test/unit_test.hpp>

#include <penstock/core/topology.hpp>

#include <algorithm>

using namespace penstock;

BOOST_AUTO_TEST_SUITE(core_topology)

BOOST_AUTO_TEST_CASE(alone_is_the_default) {
  constexpr topology t;
  static_assert(t.ranks() == 1);
  static_assert(t.of(rank_group::attention) == group_place{1, 0});
  static_assert(t.of(rank_group::experts) == group_place{1, 0});
  static_assert(t.expert_block() == group_place{1, 0});
  BOOST_TEST(t.rank == 0u);
}

BOOST_AUTO_TEST_CASE(a_rank_is_its_stage_times_tp_and_its_place_in_it) {
  for (u32 rank = 0; rank < 12; ++rank) {
    topology const t{.tp = 4, .pp = 3, .rank = rank};
    BOOST_TEST(t.ranks() == 12u);
    for (auto const g : {rank_group::attention, rank_group::dense, rank_group::vocab, rank_group::vision})
      BOOST_TEST((t.of(g) == group_place{4, rank % 4}));
  }
}

BOOST_AUTO_TEST_CASE(expert_blocks_divide_the_tensor_parallel_ranks) {
  // ep_rank = tp_rank / (tp / ep), the place inside of a block = tp_rank % (tp / ep)
  for (u32 const ep : {1u, 2u, 4u, 8u})
    for (u32 rank = 0; rank < 16; ++rank) {
      topology const t{.tp = 8, .ep = ep, .pp = 2, .rank = rank};
      u32 const tp_rank = rank % 8, block = 8 / ep;
      BOOST_TEST((t.of(rank_group::experts) == group_place{block, tp_rank % block}));
      BOOST_TEST((t.expert_block() == group_place{ep, tp_rank / block}));
      BOOST_TEST((t.of(rank_group::dense) == group_place{8, tp_rank}));
    }
}

BOOST_AUTO_TEST_CASE(stages_have_equal_parts_of_the_layers_and_the_last_ones_one_more) {
  for (u32 const pp : {1u, 2u, 3u, 4u, 7u})
    for (u32 const layers : {7u, 8u, 61u}) {
      u32 next = 3, smallest = layers, largest = 0, before = 0;
      for (u32 stage = 0; stage < pp; ++stage) {
        topology const t{.tp = 2, .pp = pp, .rank = stage * 2 + 1};
        auto const here = t.layers_here({3, 3 + layers});
        u32 const count = here.end - here.first;
        BOOST_TEST(here.first == next);
        BOOST_TEST(count >= before);
        smallest = std::min(smallest, count), largest = std::max(largest, count);
        next = here.end, before = count;
        BOOST_TEST(t.first_stage() == (stage == 0));
        BOOST_TEST(t.last_stage() == (stage + 1 == pp));
      }
      BOOST_TEST(next == 3 + layers);
      BOOST_TEST(largest - smallest <= 1u);
    }
  topology const own{.pp = 2, .rank = 1, .stage_layers = {5, 3}};
  BOOST_TEST((own.layers_here({0, 8}) == layer_range{5, 8}));
}

BOOST_AUTO_TEST_CASE(a_group_may_have_a_size_of_its_own) {
  topology t{.tp = 8, .rank = 5};
  t.groups[static_cast<unsigned>(rank_group::attention)] = group_place{2, 1};
  BOOST_TEST((t.of(rank_group::attention) == group_place{2, 1}));
  BOOST_TEST((t.of(rank_group::dense) == group_place{8, 5}));
}
BOOST_AUTO_TEST_SUITE_END()
