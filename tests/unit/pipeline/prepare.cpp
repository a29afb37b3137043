#include <penstock/pipeline/detail/prepare.hpp>

#include <boost/test/unit_test.hpp>
#include <functional>

#include "../../support/plan_builder.hpp"

using namespace penstock;
using penstock::detail::prepare;
using penstock::detail::prepared;

namespace {
std::vector<support::blob> const objects{support::blob(64)};

/// A read with a keep, one with steps: right as it stands.
plan good() {
  support::plan_builder b(objects);
  b.parameter(4, 8), b.parameter(1, 16);
  b.group(8, 1, 2, support::mix);
  b.read(0, 0, 24).keep(0, 0, 8, 0).place(1, 8, 16, 0);
  b.read(0, 24, 32).step(0, 0, 0, 16, 0).step(0, 0, 16, 16, 16);
  return b.finish();
}
/// What prepare says to the good plan after `change`; empty if it finds nothing.
std::string said(std::function<void(plan&)> const& change) {
  auto p = good();
  change(p);
  auto const pre = prepare(p);
  if (pre) return "";
  BOOST_TEST((pre.error().kind() == error_kind::plan));
  return pre.error().message();
}
bool contains(std::string const& text, char const* words) { return text.find(words) != std::string::npos; }
}  // namespace

BOOST_AUTO_TEST_SUITE(pipeline_prepare)

BOOST_AUTO_TEST_CASE(a_right_plan_gives_its_peak_its_bytes_and_its_largest_read) {
  auto const pre = prepare(good());
  BOOST_REQUIRE(pre);
  BOOST_TEST(pre->kept_peak.count == 8u);
  BOOST_TEST(pre->read.count == 56u);
  BOOST_TEST(pre->largest == 32u);
  BOOST_TEST(pre->traits[0] == prepared::has_keeps);
  BOOST_TEST(pre->traits[1] == prepared::has_steps);
  BOOST_TEST(pre->layer_parameters[0] == 2u);
}

BOOST_AUTO_TEST_CASE(zeros_count_as_no_bytes_read) {
  support::plan_builder b(objects);
  b.parameter(1, 8);
  b.zeros(8).place(0, 0, 8, 0);
  auto const pre = prepare(b.get());
  BOOST_REQUIRE(pre);
  BOOST_TEST(pre->read.count == 0u);
  BOOST_TEST(pre->largest == 8u);
}

BOOST_AUTO_TEST_CASE(groups_that_close_before_others_open_share_the_peak) {
  support::plan_builder b(objects);
  b.parameter(1, 8), b.parameter(1, 8);
  for (u32 g : {0u, 1u}) b.group(8, 1, 1, support::mix), b.read(0, 0, 16).keep(g, 0, 8, 0).step(g, g, 8, 8, 0);
  auto const pre = prepare(b.get());
  BOOST_REQUIRE(pre);
  BOOST_TEST(pre->kept_peak.count == 8u);
}

BOOST_AUTO_TEST_CASE(copies_lie_inside_their_read_and_their_destination) {
  BOOST_TEST(contains(said([](plan& p) { p.copies[1].width = 17; }), "past the 24 bytes of the read"));
  BOOST_TEST(contains(said([](plan& p) { p.copies[1].at = 1; }), "past the 16 bytes of p1"));
  BOOST_TEST(contains(said([](plan& p) { p.copies[1].at = ~u64{0} - 3; }), "past the 16 bytes of p1"));
  BOOST_TEST(contains(said([](plan& p) { p.copies[0].at = 1; }), "past the 8 bytes of group 0"));
  BOOST_TEST(contains(said([](plan& p) {
                        p.copies[1].rows = 2, p.copies[1].width = 8, p.copies[1].from_pitch = 8,
                        p.copies[1].at_pitch = 9;
                      }),
                      "of p1"));
  BOOST_TEST(contains(said([](plan& p) { p.copies[1].rows = 0; }), "empty one"));
  BOOST_TEST(contains(said([](plan& p) { p.copies[1].width = 0; }), "empty one"));
}

BOOST_AUTO_TEST_CASE(indices_name_what_is_in_the_plan) {
  BOOST_TEST(contains(said([](plan& p) { p.copies[1].to = 2; }), "parameter 2, which is not in the plan"));
  BOOST_TEST(contains(said([](plan& p) { p.copies[0].to = 1; }), "group 1, which is not in the plan"));
  BOOST_TEST(contains(said([](plan& p) { p.copies[2].group = group_id{7}; }), "group 7, which is not in the plan"));
  BOOST_TEST(contains(said([](plan& p) { p.reads[0].object = object_id{1}; }), "objects, found number 1"));
  BOOST_TEST(contains(said([](plan& p) { p.reads[1].copies_end = 5; }), "found [2, 5)"));
  BOOST_TEST(contains(said([](plan& p) { p.parameters[1].id = param_id{0}; }), "to have number 1, found 0"));
  BOOST_TEST(
      contains(said([](plan& p) { p.parameters[1].layer = layer_id{1}; }), "layer of parameter p1 below 1, found 1"));
}

BOOST_AUTO_TEST_CASE(steps_stand_after_what_they_need) {
  BOOST_TEST(contains(said([](plan& p) { std::swap(p.reads[0], p.reads[1]); }), "order the plan"));
  BOOST_TEST(contains(said([](plan& p) { p.groups[0].keeps = 2; }), "order the plan"));
  BOOST_TEST(contains(said([](plan& p) { p.groups[0].run = nullptr; }), "nothing to run"));
}

BOOST_AUTO_TEST_CASE(groups_close_once_and_parameters_have_their_pieces) {
  BOOST_TEST(contains(said([](plan& p) { p.groups[0].steps = 3; }), "never close"));
  BOOST_TEST(contains(said([](plan& p) { p.groups[0].steps = 1; }), "found another one"));
  BOOST_TEST(contains(said([](plan& p) { p.groups.push_back({4, 0, 0, support::mix}); }), "never close"));
  BOOST_TEST(contains(said([](plan& p) { p.parameters[1].pieces = 2; }), "expected 2 pieces for p1, found 1"));
}

BOOST_AUTO_TEST_SUITE_END()
