/// How a load ends when it cannot go on: nothing is left under way, and the first reason is told.
#include <penstock/pipeline/executor.hpp>

#include <pthread.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "../../support/fake_async.hpp"
#include "../../support/memory_sink.hpp"

using namespace penstock;
using support::fake_storage;
using support::memory_sink;
using support::objects_of;
using support::plan_builder;

namespace {
std::vector<support::blob> const content{support::pattern(20000)};

plan_builder eight() {
  plan_builder b(content);
  for (u32 i = 0; i < 8; ++i) b.parameter(1, 1024), b.read(0, i * 1024, 1024).place(i, 0, 1024, 0);
  b.memory(2, 2, 1, 4096);
  return b;
}
/// Memory that has three tensors and no more.
struct some {
  static constexpr memory_space space = memory_space::host;
  static inline int left = 3;
  static void* allocate(std::size_t n) noexcept { return left-- > 0 ? host_memory::allocate(n) : nullptr; }
  static void release(void* p, std::size_t n) noexcept { host_memory::release(p, n); }
};
/// A load that must fail.
template <class Sink>
error failure(plan const& p, Sink& sink, load_options const& o = {}, fake_storage&& storage = {}) {
  device::host host;
  auto how = executor<fake_storage, device::host>(storage, host).load(p, objects_of(content), sink, o);
  BOOST_TEST(storage.outstanding == 0);
  BOOST_REQUIRE(!how);
  return std::move(how.error());
}
bool contains(std::string const& text, std::string const& words) { return text.find(words) != std::string::npos; }
}  // namespace

BOOST_AUTO_TEST_SUITE(pipeline_executor_end)

BOOST_AUTO_TEST_CASE(a_plan_that_contradicts_itself_asks_and_reads_nothing) {
  auto b = eight();
  b.get().parameters[3].pieces = 2;
  auto const p = b.finish();
  memory_sink sink(p);
  fake_storage storage;
  device::host host;
  auto const how = executor<fake_storage, device::host>(storage, host).load(p, objects_of(content), sink);
  BOOST_REQUIRE(!how);
  BOOST_TEST((how.error().kind() == error_kind::plan));
  BOOST_TEST(sink.asked.empty());
  BOOST_TEST(storage.reads == 0u);
}

BOOST_AUTO_TEST_CASE(a_limit_that_is_too_small_is_refused_with_its_numbers) {
  auto b = eight();
  b.get().memory.limit -= bytes{1};
  auto const p = b.finish();
  memory_sink sink(p);
  auto const e = failure(p, sink);
  BOOST_TEST((e.kind() == error_kind::plan));
  BOOST_TEST(contains(e.message(), "limit of 16383 bytes, found 16384 + 0 + 0"));
}

BOOST_AUTO_TEST_CASE(what_lanes_say_of_their_transport_counts) {
  auto const p = eight().finish();
  memory_sink sink(p);
  fake_storage storage;
  storage.transport = bytes{100};
  device::host host;
  auto const how = executor<fake_storage, device::host>(storage, host).load(p, objects_of(content), sink);
  BOOST_REQUIRE(!how);
  BOOST_TEST(contains(how.error().message(), "16384 + 200 + 0"));
}

BOOST_AUTO_TEST_CASE(a_read_that_is_larger_than_a_slot_is_a_plan_error) {
  auto b = eight();
  b.read(0, 0, 4097);
  auto const p = b.finish();
  memory_sink sink(p);
  auto const e = failure(p, sink);
  BOOST_TEST((e.kind() == error_kind::plan));
  BOOST_TEST(contains(e.message(), "fit a slot of 4096 bytes, found one of 4097"));
}

BOOST_AUTO_TEST_CASE(a_read_past_the_pinned_object_is_a_plan_error_that_names_it) {
  auto b = eight();
  b.read(0, 19999, 2);
  auto const p = b.finish();
  memory_sink sink(p);
  auto const e = failure(p, sink);
  BOOST_TEST((e.kind() == error_kind::plan));
  BOOST_TEST(contains(e.message(), "up to byte 20001 inside shard 0, found that it has 20000 bytes"));
}

BOOST_AUTO_TEST_CASE(other_objects_than_the_plans_are_a_plan_error) {
  auto b = eight();
  b.get().objects.push_back("another");
  auto const p = b.finish();
  memory_sink sink(p);
  BOOST_TEST((failure(p, sink).kind() == error_kind::plan));
}

BOOST_AUTO_TEST_CASE(no_lane_slot_or_depth_is_a_plan_error) {
  for (u32 memory_division::*field : {&memory_division::lanes, &memory_division::slots, &memory_division::depth}) {
    auto b = eight();
    b.get().memory.*field = 0;
    auto const p = b.finish();
    memory_sink sink(p);
    BOOST_TEST((failure(p, sink).kind() == error_kind::plan));
  }
}

BOOST_AUTO_TEST_CASE(a_failed_read_says_which_bytes_of_what_and_on_which_rank) {
  auto const p = eight().finish();
  memory_sink sink(p);
  load_options o;
  o.rank = 3;
  fake_storage storage;
  storage.fail_one_in = 1;
  device::host host;
  auto const how = executor<fake_storage, device::host>(storage, host).load(p, objects_of(content), sink, o);
  BOOST_REQUIRE(!how);
  BOOST_TEST((how.error().kind() == error_kind::transient));
  BOOST_TEST(how.error().where().uri == "memory://test/shard 0");
  BOOST_TEST(how.error().where().range->size.count == 1024u);
  BOOST_TEST(how.error().where().rank == 3);
  BOOST_TEST(sink.announced.empty());
}

BOOST_AUTO_TEST_CASE(a_place_that_the_device_cannot_write_is_a_usage_error) {
  struct sink_type : memory_sink {
    using memory_sink::memory_sink;
    placement destination(parameter const& q) {
      auto to = memory_sink::destination(q);
      to.space = memory_space::cuda;
      return to;
    }
  };
  auto const p = eight().finish();
  sink_type sink(p);
  auto const e = failure(p, sink);
  BOOST_TEST((e.kind() == error_kind::usage));
  BOOST_TEST(e.where().tensor == "p0");
}

BOOST_AUTO_TEST_CASE(a_failed_allocation_of_an_owned_tensor_is_a_memory_error) {
  auto const p = eight().finish();
  auto sink = make_own_sink<some>(p, [](parameter const&, owned_tensor<some>) {});
  BOOST_TEST((failure(p, sink).kind() == error_kind::memory));
}

BOOST_AUTO_TEST_CASE(an_exception_of_a_callback_passes_through_and_waiters_end) {
  struct sink_type : memory_sink {
    using memory_sink::memory_sink;
    void ready(parameter const& q) {
      if (q.name == "p5") throw std::logic_error("from the sink");
    }
  };
  auto const p = eight().finish();
  sink_type sink(p);
  readiness ready(p);
  load_options o;
  o.ready = &ready;
  fake_storage storage;
  device::host host;
  executor<fake_storage, device::host> run(storage, host);
  BOOST_CHECK_EXCEPTION((void)run.load(p, objects_of(content), sink, o), std::logic_error,
                        [](auto& e) { return std::string(e.what()) == "from the sink"; });
  BOOST_TEST(storage.outstanding == 0);
  BOOST_TEST((ready.wait(layer_id{0}).error().kind() == error_kind::cancelled));
}

BOOST_AUTO_TEST_CASE(an_exception_of_destination_passes_through_and_waiters_end) {
  struct sink_type {
    placement destination(parameter const&) { throw std::logic_error("no place"); }
  } sink;
  auto const p = eight().finish();
  readiness ready(p);
  load_options o;
  o.ready = &ready;
  fake_storage storage;
  device::host host;
  executor<fake_storage, device::host> run(storage, host);
  BOOST_CHECK_THROW((void)run.load(p, objects_of(content), sink, o), std::logic_error);
  BOOST_TEST(!ready.wait(param_id{0}));
}

BOOST_AUTO_TEST_CASE(a_load_that_was_stopped_before_it_began_asks_nothing) {
  auto const p = eight().finish();
  memory_sink sink(p);
  std::stop_source stop;
  stop.request_stop();
  load_options o;
  o.stop = stop.get_token();
  BOOST_TEST((failure(p, sink, o).kind() == error_kind::cancelled));
  BOOST_TEST(sink.asked.empty());
}

BOOST_AUTO_TEST_CASE(a_stop_ends_a_stalled_load_within_100_ms) {
  using clock = std::chrono::steady_clock;
  auto const p = eight().finish();
  auto least = clock::duration::max();
  for (int round = 0; round < 5; ++round) {  // a busy machine may be late, not five times
    memory_sink sink(p);
    readiness ready(p);
    std::stop_source stop;
    load_options o;
    o.stop = stop.get_token();
    o.ready = &ready;
    fake_storage storage;
    storage.delay_us = 100'000'000;
    clock::time_point asked;
    std::thread stopper([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      asked = clock::now();
      stop.request_stop();
    });
    device::host host;
    auto const how = executor<fake_storage, device::host>(storage, host).load(p, objects_of(content), sink, o);
    least = std::min(least, clock::now() - asked);
    stopper.join();
    BOOST_REQUIRE(!how);
    BOOST_TEST((how.error().kind() == error_kind::cancelled));
    BOOST_TEST((ready.wait(layer_id{0}).error().kind() == error_kind::cancelled));
  }
  // Lanes look up every 100 ms by themselves: that would be 90 ms after the request, so less shows that they were woken.
  BOOST_TEST(std::chrono::duration<double>(least).count() < 0.05);
}

BOOST_AUTO_TEST_CASE(a_thread_that_cannot_be_started_is_a_memory_error) {
  pthread_attr_t usual, huge;
  BOOST_REQUIRE(::pthread_getattr_default_np(&usual) == 0);
  ::pthread_attr_init(&huge);
  ::pthread_attr_setstacksize(&huge, std::size_t{1} << 50);  // more than there are addresses
  BOOST_REQUIRE(::pthread_setattr_default_np(&huge) == 0);
  auto const p = eight().finish();
  memory_sink sink(p);
  auto const e = failure(p, sink);
  ::pthread_setattr_default_np(&usual);
  ::pthread_attr_destroy(&huge);
  ::pthread_attr_destroy(&usual);
  BOOST_TEST((e.kind() == error_kind::memory));
  BOOST_TEST(contains(e.message(), "thread 2 of 2"));
}

BOOST_AUTO_TEST_CASE(a_copy_that_fails_ends_the_load_with_the_devices_error) {
  auto const p = eight().finish();
  memory_sink sink(p);
  fake_storage storage;
  support::fake_async device(1, 10, 3);
  auto const how = executor<fake_storage, support::fake_async>(storage, device).load(p, objects_of(content), sink);
  BOOST_REQUIRE(!how);
  BOOST_TEST((how.error().kind() == error_kind::io));
  BOOST_TEST(device.pending() == 0u);
}

BOOST_AUTO_TEST_CASE(a_readiness_of_another_plan_is_a_usage_error) {
  auto const p = eight().finish();
  memory_sink sink(p);
  readiness ready(plan{});
  load_options o;
  o.ready = &ready;
  BOOST_TEST((failure(p, sink, o).kind() == error_kind::usage));
}

BOOST_AUTO_TEST_SUITE_END()
