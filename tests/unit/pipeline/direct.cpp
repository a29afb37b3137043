#include <penstock/pipeline/detail/direct.hpp>

#include <boost/test/unit_test.hpp>

#include "../../support/plan_builder.hpp"

using namespace penstock;
using penstock::detail::destinations;
using penstock::detail::direct_layout;

namespace {
std::vector<support::blob> const objects{support::blob(65536)};

struct bench {
  support::plan_builder plan{objects};
  std::vector<support::blob> memory{};
  std::vector<scatter> to{};
  direct_layout layout{};

  bool lay_out(bytes mean, bool reached = true) {
    destinations d(plan.get().parameters.size());
    memory.clear();
    for (auto const& p : plan.get().parameters) {
      memory.emplace_back(p.size.count);
      BOOST_REQUIRE(d.bind(p, {memory.back().data(), bytes{}, bytes{}, memory_space::host}, reached));
    }
    return layout.lay_out(plan.get(), plan.get().reads[0], d, mean, to);
  }
  u64 total() const {
    u64 n = 0;
    for (auto const& s : to) n += s.bytes;
    return n;
  }
};
}  // namespace

BOOST_AUTO_TEST_SUITE(pipeline_direct)

BOOST_AUTO_TEST_CASE(pieces_go_to_their_place_and_gaps_to_scratch) {
  bench b;
  b.plan.parameter(1, 4096), b.plan.parameter(1, 4096);
  b.plan.read(0, 0, 9000).place(0, 0, 4096, 0).place(1, 4500, 4096, 0);
  BOOST_REQUIRE(b.lay_out(bytes{1024}));
  BOOST_REQUIRE(b.to.size() == 4u);
  BOOST_TEST((b.to[0].to == b.memory[0].data() && b.to[0].bytes == 4096));
  BOOST_TEST((b.to[1].bytes == 404 && b.to[3].bytes == 404 && b.to[1].to == b.to[3].to));
  BOOST_TEST((b.to[2].to == b.memory[1].data() && b.to[2].bytes == 4096));
  BOOST_TEST(b.total() == 9000u);
}

BOOST_AUTO_TEST_CASE(neighbours_in_both_become_one_piece) {
  bench b;
  b.plan.parameter(1, 600);
  b.plan.read(0, 0, 600).place(0, 0, 300, 0).place(0, 300, 300, 300);
  BOOST_REQUIRE(b.lay_out(bytes{300}));
  BOOST_TEST(b.to.size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_large_gap_is_read_over_itself) {
  bench b;
  b.plan.parameter(1, 100);
  b.plan.read(0, 0, 50100).place(0, 50000, 100, 0);
  BOOST_REQUIRE(b.lay_out(always_direct));
  BOOST_TEST(b.total() == 50100u);
  for (std::size_t i = 0; i + 1 < b.to.size(); ++i) BOOST_TEST(b.to[i].bytes <= direct_layout::scratch_size);
}

BOOST_AUTO_TEST_CASE(short_pieces_need_a_slot) {
  bench b;
  b.plan.parameter(1, 2000);
  b.plan.read(0, 0, 4000).copy({plan_copy::what::place, 0, no_group, 0, 500, 4, 1000, 500, 0});
  BOOST_TEST(!b.lay_out(bytes{1024}));
  BOOST_TEST(b.to.empty());
  BOOST_TEST(b.lay_out(bytes{500}));
  BOOST_TEST(!b.lay_out(never_direct));
}

BOOST_AUTO_TEST_CASE(what_the_host_does_not_reach_and_bytes_used_twice_need_a_slot) {
  bench b;
  b.plan.parameter(1, 4096), b.plan.parameter(1, 4096);
  b.plan.read(0, 0, 4096).place(0, 0, 4096, 0);
  BOOST_TEST(!b.lay_out(always_direct, false));
  b.plan.place(1, 0, 4096, 0);
  BOOST_TEST(!b.lay_out(always_direct));
}

BOOST_AUTO_TEST_CASE(kept_pieces_and_steps_need_a_slot) {
  bench b;
  b.plan.parameter(1, 4096);
  b.plan.group(8, 1, 1, support::mix);
  b.plan.read(0, 0, 8192).keep(0, 0, 8, 0).step(0, 0, 4096, 4096, 0);
  BOOST_TEST(!b.lay_out(always_direct));
}

BOOST_AUTO_TEST_CASE(zeros_are_direct_however_short_and_without_gaps) {
  bench b;
  b.plan.parameter(1, 8);
  b.plan.zeros(100).place(0, 0, 4, 0).place(0, 50, 4, 4);
  BOOST_REQUIRE(b.lay_out(bytes{1024}));
  BOOST_TEST(b.total() == 8u);
  BOOST_TEST(!b.lay_out(never_direct));
}

BOOST_AUTO_TEST_SUITE_END()
