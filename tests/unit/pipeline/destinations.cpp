#include <penstock/pipeline/detail/destinations.hpp>

#include <boost/test/unit_test.hpp>

using namespace penstock;
using penstock::detail::destinations;

namespace {
std::byte buffer[512];

parameter bytes_of(shape s) {
  parameter p;
  p.name = "w", p.type = dtype::uint8, p.shape = s, p.id = param_id{0};
  p.size = *s.size(dtype::uint8);
  p.row = bytes{s.rank() ? s[s.rank() - 1] : 1};
  return p;
}
struct run {
  long at;
  u64 n;
  bool operator==(run const&) const = default;
};
std::vector<run> runs_of(destinations const& d, u64 offset, u64 width) {
  std::vector<run> all;
  d.runs(0, offset, width, [&](std::byte* to, u64 n) { all.push_back({to - buffer, n}); });
  return all;
}
destinations bound(parameter const& p, u64 row_pitch, u64 expert_stride) {
  destinations d(1);
  BOOST_REQUIRE(d.bind(p, {buffer, bytes{row_pitch}, bytes{expert_stride}, memory_space::host}, true));
  return d;
}
}  // namespace

BOOST_AUTO_TEST_SUITE(pipeline_destinations)

BOOST_AUTO_TEST_CASE(a_tight_place_is_one_run_also_when_its_pitches_are_stated) {
  auto const p = bytes_of({2, 3, 4});
  for (auto const& d : {bound(p, 0, 0), bound(p, 4, 0), bound(p, 4, 12), bound(p, 0, 12)})
    BOOST_TEST((runs_of(d, 1, 20) == std::vector<run>{{1, 20}}));
}

BOOST_AUTO_TEST_CASE(a_pitch_cuts_runs_by_row_and_a_stride_by_matrix) {
  auto const d = bound(bytes_of({2, 3, 4}), 10, 40);
  BOOST_TEST((runs_of(d, 2, 12) == std::vector<run>{{2, 2}, {10, 4}, {20, 4}, {40, 2}}));
  auto const tight_over_rows = bound(bytes_of({2, 3, 4}), 10, 0);
  BOOST_TEST((runs_of(tight_over_rows, 8, 8) == std::vector<run>{{20, 4}, {30, 4}}));
  auto const tight_rows = bound(bytes_of({2, 3, 4}), 0, 100);
  BOOST_TEST((runs_of(tight_rows, 8, 8) == std::vector<run>{{8, 4}, {100, 4}}));
}

BOOST_AUTO_TEST_CASE(a_piece_of_whole_rows_becomes_one_copy) {
  auto const d = bound(bytes_of({6, 4}), 10, 0);
  std::vector<copy_op> ops;
  std::byte const from[24] = {};
  d.append(ops, {plan_copy::what::place, 0, no_group, 0, 12, 1, 0, 0, 4}, from);
  BOOST_REQUIRE(ops.size() == 1u);
  BOOST_TEST((ops[0].to == buffer + 10 && ops[0].from == from));
  BOOST_TEST((ops[0].rows == 3 && ops[0].width == 4 && ops[0].to_pitch == 10 && ops[0].from_pitch == 4));
}

BOOST_AUTO_TEST_CASE(a_piece_of_part_rows_becomes_copies_of_equal_width) {
  auto const d = bound(bytes_of({6, 4}), 10, 0);
  std::vector<copy_op> ops;
  std::byte const from[64] = {};
  d.append(ops, {plan_copy::what::place, 0, no_group, 0, 6, 1, 0, 0, 3}, from);  // 1 + 4 + 1 bytes
  BOOST_REQUIRE(ops.size() == 3u);
  BOOST_TEST((ops[0].width == 1 && ops[1].width == 4 && ops[2].width == 1));
  ops.clear();
  d.append(ops, {plan_copy::what::place, 0, no_group, 0, 2, 3, 16, 8, 1}, from);  // two bytes of every other row
  BOOST_REQUIRE(ops.size() == 1u);
  BOOST_TEST((ops[0].rows == 3 && ops[0].width == 2 && ops[0].to_pitch == 20 && ops[0].from_pitch == 16));
}

BOOST_AUTO_TEST_CASE(pitches_that_cannot_be_are_usage_errors) {
  destinations d(1);
  auto const p = bytes_of({2, 3, 4});
  auto const narrow = d.bind(p, {buffer, bytes{3}, bytes{}, memory_space::host}, true);
  BOOST_REQUIRE(!narrow);
  BOOST_TEST((narrow.error().kind() == error_kind::usage));
  BOOST_TEST(narrow.error().where().tensor == "w");
  auto const close = d.bind(p, {buffer, bytes{10}, bytes{23}, memory_space::host}, true);
  BOOST_REQUIRE(!close);
  BOOST_TEST(close.error().message() == "expected an expert stride of at least 24 bytes for parameter w, found 23");
}

BOOST_AUTO_TEST_CASE(null_is_no_place) {
  destinations d(1);
  BOOST_TEST(!d.bound(0));
  BOOST_REQUIRE(d.bind(bytes_of({4}), {}, false));
  BOOST_TEST(!d.bound(0));
}

BOOST_AUTO_TEST_SUITE_END()
