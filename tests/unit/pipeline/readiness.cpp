#include <penstock/pipeline/readiness.hpp>

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <thread>
#include <vector>

using namespace penstock;
using writer = penstock::detail::readiness_writer;

namespace {
plan two_layers() {
  plan p;
  p.layers = 2;
  p.parameters.resize(3);
  return p;
}
}  // namespace

BOOST_AUTO_TEST_SUITE(pipeline_readiness)

BOOST_AUTO_TEST_CASE(nothing_is_ready_at_first_and_layers_are_counted) {
  readiness r(two_layers());
  BOOST_TEST(!r.ready(layer_id{0}));
  BOOST_TEST(!r.ready(param_id{2}));
  BOOST_TEST(r.layers_ready() == 0u);
  writer::parameter(r, param_id{2});
  writer::layer(r, layer_id{1});
  BOOST_TEST(r.ready(param_id{2}));
  BOOST_TEST(r.ready(layer_id{1}));
  BOOST_TEST(r.layers_ready() == 1u);
  BOOST_TEST(bool(r.wait(layer_id{1})));
}

BOOST_AUTO_TEST_CASE(waits_end_when_what_they_wait_for_is_ready) {
  readiness r(two_layers());
  std::atomic<int> came{0};
  std::vector<std::thread> waiters;
  for (u32 i = 0; i < 4; ++i)
    waiters.emplace_back([&, i] { came += i % 2 ? bool(r.wait(layer_id{0})) : bool(r.wait(param_id{1})); });
  writer::parameter(r, param_id{1});
  writer::layer(r, layer_id{0});
  for (auto& w : waiters) w.join();
  BOOST_TEST(came == 4);
}

BOOST_AUTO_TEST_CASE(waits_end_with_the_kind_of_the_failure) {
  readiness r(two_layers());
  error_kind kind{};
  std::thread waiter([&] { kind = r.wait(layer_id{0}).error().kind(); });
  writer::failed(r, error_kind::changed, "another version");
  waiter.join();
  BOOST_TEST((kind == error_kind::changed));
  auto const later = r.wait(param_id{0});
  BOOST_REQUIRE(!later);
  BOOST_TEST(later.error().message() == "expected parameter 0 to be loaded, but the load failed: another version");
}

BOOST_AUTO_TEST_CASE(what_was_ready_before_a_failure_stays_ready) {
  readiness r(two_layers());
  writer::parameter(r, param_id{0});
  writer::failed(r, error_kind::io, "");
  BOOST_TEST(bool(r.wait(param_id{0})));
}

BOOST_AUTO_TEST_CASE(a_declined_parameter_and_a_wrong_number_are_usage_errors) {
  readiness r(two_layers());
  writer::declined(r, param_id{0});
  BOOST_TEST((r.wait(param_id{0}).error().kind() == error_kind::usage));
  BOOST_TEST((r.wait(param_id{3}).error().kind() == error_kind::usage));
  BOOST_TEST((r.wait(layer_id{2}).error().kind() == error_kind::usage));
  BOOST_TEST(!r.ready(layer_id{2}));
}

BOOST_AUTO_TEST_CASE(a_reset_makes_it_new) {
  readiness r(two_layers());
  writer::layer(r, layer_id{0});
  writer::failed(r, error_kind::io, "");
  r.reset();
  BOOST_TEST(r.layers_ready() == 0u);
  std::thread waiter([&] { BOOST_TEST(bool(r.wait(layer_id{0}))); });
  writer::layer(r, layer_id{0});
  waiter.join();
}

BOOST_AUTO_TEST_SUITE_END()
