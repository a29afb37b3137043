/// What a load does when all goes well: landing, ownerships, zeros, memory, progress, report.
#include <penstock/pipeline/executor.hpp>

#include <boost/test/unit_test.hpp>
#include <condition_variable>
#include <map>
#include <mutex>

#include "../../support/fake_async.hpp"
#include "../../support/memory_sink.hpp"

using namespace penstock;
using support::blob;
using support::fake_storage;
using support::memory_sink;
using support::objects_of;
using support::pattern;
using support::plan_builder;

namespace {
std::vector<blob> const content{pattern(20000), pattern(5000, 3)};

template <class Sink, class Device = device::host>
result<report> load(plan const& p, Sink& sink, load_options const& o = {}, Device device = {}) {
  fake_storage storage;
  return executor<fake_storage, Device>(storage, device).load(p, objects_of(content), sink, o);
}

/// Memory that knows how many tensors of it there are.
struct few {
  static constexpr memory_space space = memory_space::host;
  static inline int alive = 0;
  static void* allocate(std::size_t n) noexcept { return ++alive, host_memory::allocate(n); }
  static void release(void* p, std::size_t n) noexcept { --alive, host_memory::release(p, n); }
};
/// Three parameters over two shards and zeros, one of them in a second layer, and one without bytes.
plan_builder three() {
  plan_builder b(content, 2);
  b.parameter(2, 2048), b.parameter(4, 256), b.parameter(1, 3000, 1), b.parameter(0, 16);
  b.read(0, 0, 4096).place(0, 0, 2048, 0).place(1, 2048, 512, 0).place(0, 2560, 1024, 2048);
  b.zeros(1024).place(0, 0, 1024, 3072);
  b.read(0, 8192, 512).place(1, 0, 512, 512);
  b.read(1, 1000, 3500).place(2, 500, 3000, 0);
  b.memory(2, 2, 1, 4096);
  return b;
}
load_options with_direct(bytes above) {
  load_options o;
  o.direct_above = above;
  return o;
}
}  // namespace

BOOST_AUTO_TEST_SUITE(pipeline_executor)

BOOST_AUTO_TEST_CASE(placed_parameters_hold_what_the_plan_says_direct_and_through_slots) {
  auto const p = three().finish();
  auto const want = support::expected(p, content);
  for (auto above : {always_direct, bytes{1024}, never_direct}) {
    memory_sink sink(p);
    BOOST_REQUIRE(load(p, sink, with_direct(above)));
    BOOST_TEST((sink.parameters == want));
    BOOST_TEST((sink.asked == std::vector<u32>{0, 1, 2, 3}));
    BOOST_TEST(sink.announced.size() == 4u);
    BOOST_TEST(sink.announced.front() == 3u);  // it has no bytes: complete from the start
    BOOST_TEST(sink.layers.size() == 2u);
  }
}

BOOST_AUTO_TEST_CASE(destinations_are_asked_for_before_the_first_read) {
  struct sink_type : memory_sink {
    using memory_sink::memory_sink;
    fake_storage* storage = nullptr;
    placement destination(parameter const& q) {
      BOOST_TEST(storage->reads == 0u);
      return memory_sink::destination(q);
    }
  };
  auto const p = three().finish();
  sink_type sink(p);
  fake_storage storage;
  device::host host;
  sink.storage = &storage;
  BOOST_REQUIRE((executor<fake_storage, device::host>(storage, host).load(p, objects_of(content), sink)));
  BOOST_TEST(storage.reads == 3u);
}

BOOST_AUTO_TEST_CASE(a_declined_parameter_is_dropped_and_never_announced) {
  struct sink_type : memory_sink {
    using memory_sink::memory_sink;
    placement destination(parameter const& q) { return q.name == "p2" ? placement{} : memory_sink::destination(q); }
  };
  auto const p = three().finish();
  sink_type sink(p);
  readiness ready(p);
  load_options o;
  o.ready = &ready;
  auto const r = load(p, sink, o);
  BOOST_REQUIRE(r);
  BOOST_TEST(r->parameters == 3u);
  BOOST_TEST(r->bytes_needed.count == p.needed.count - 3000);
  BOOST_TEST(r->bytes_discarded.count == r->bytes_read.count - r->bytes_needed.count);
  BOOST_TEST((sink.layers == std::vector<u32>{0}));  // layer 1 has no other parameter
  BOOST_TEST(ready.ready(layer_id{1}));
  BOOST_TEST((ready.wait(param_id{2}).error().kind() == error_kind::usage));
}

BOOST_AUTO_TEST_CASE(pitched_rows_land_apart_and_leave_the_bytes_between) {
  struct sink_type {
    std::vector<std::byte> memory = std::vector<std::byte>(5000, support::untouched);
    placement destination(parameter const& q) {
      placement to;
      if (q.name == "p1") to = {memory.data(), bytes{300}, bytes{}, memory_space::host};
      return to;
    }
  };
  auto const p = three().finish();
  auto const want = support::expected(p, content);
  for (auto above : {always_direct, never_direct}) {
    sink_type sink;
    BOOST_REQUIRE(load(p, sink, with_direct(above)));
    for (std::size_t row = 0; row < 4; ++row)
      for (std::size_t i = 0; i < 300; ++i)
        if (sink.memory[row * 300 + i] != (i < 256 ? want[1][row * 256 + i] : support::untouched))
          BOOST_FAIL("row " << row << ", byte " << i);
  }
}

BOOST_AUTO_TEST_CASE(owned_parameters_are_handed_over_with_their_bytes_also_empty_ones) {
  auto const p = three().finish();
  auto const want = support::expected(p, content);
  std::map<std::string, owned_tensor<host_memory>> got;
  auto sink = make_own_sink<host_memory>(
      p, [&](parameter const& q, owned_tensor<host_memory> t) { got[q.name] = std::move(t); });
  BOOST_REQUIRE(load(p, sink));
  BOOST_REQUIRE(got.size() == 4u);
  BOOST_TEST(got["p3"].size().count == 0u);
  for (u32 i = 0; i < 3; ++i)
    BOOST_TEST(std::memcmp(got["p" + std::to_string(i)].data(), want[i].data(), want[i].size()) == 0);
}

BOOST_AUTO_TEST_CASE(owned_memory_is_allocated_when_the_first_read_is_admitted) {
  plan_builder b(content);
  for (u32 i = 0; i < 8; ++i) b.parameter(1, 1024), b.read(0, i * 1024, 1024).place(i, 0, 1024, 0);
  b.memory(1, 1, 1, 4096);
  int most = 0;
  auto const p = b.finish();
  auto sink = make_own_sink<few>(p, [&](parameter const&, owned_tensor<few>) { most = std::max(most, few::alive); });
  BOOST_REQUIRE(load(p, sink));
  BOOST_TEST(most == 1);  // one lane with one slot: each is handed on before the next is admitted
}

BOOST_AUTO_TEST_CASE(borrowed_pieces_name_their_box_and_their_pitch) {
  struct sink_type {
    std::vector<blob> parameters;
    u64 pieces = 0, readies = 0;
    void piece(parameter const& q, landed_piece const& piece, borrowed_tensor const& loan,
               lease<device::host::stream>&) {
      ++pieces;
      for (u64 row = 0; row < piece.where.rows; ++row)
        loan.copy_to(parameters[index_of(q.id)].data() + piece.where.at.count + row * piece.where.pitch.count,
                     row * piece.pitch, piece.where.width);
    }
    void ready(parameter const&) { ++readies; }
  } sink;
  auto b = three();
  b.parameter(3, 100);
  b.read(0, 12000, 900).copy({plan_copy::what::place, 4, no_group, 50, 60, 3, 300, 100, 20});
  auto const p = b.finish();
  for (auto const& q : p.parameters) sink.parameters.emplace_back(q.size.count, support::untouched);
  BOOST_REQUIRE(load(p, sink));
  BOOST_TEST((sink.parameters == support::expected(p, content)));
  BOOST_TEST(sink.pieces == p.copies.size());
  BOOST_TEST(sink.readies == 5u);
}

#if PENSTOCK_CHECKED && !PENSTOCK_ASAN
BOOST_AUTO_TEST_CASE(a_slot_is_poisoned_when_its_lease_ends) {
  struct sink_type {
    std::byte const* first = nullptr;
    int looks = 0;
    void piece(parameter const&, landed_piece const&, borrowed_tensor const& loan, lease<device::host::stream>&) {
      auto const* const now = loan.unsafe_data({"a test looks at a slot after its lease"});
      if (first && first != now) {
        ++looks;
        BOOST_TEST((first[0] == std::byte{0xff} && first[1023] == std::byte{0xff}));
      }
      first = now;
    }
  } sink;
  plan_builder b(content);
  b.parameter(1, 2048);
  b.read(0, 0, 1024).place(0, 0, 1024, 0);
  b.read(0, 1024, 1024).place(0, 0, 1024, 1024);
  b.memory(1, 2, 2, 4096);
  BOOST_REQUIRE(load(b.finish(), sink));
  BOOST_TEST(sink.looks == 1);
}
#endif

BOOST_AUTO_TEST_CASE(what_is_enqueued_on_the_lease_is_waited_for_before_the_refill) {
  struct sink_type {
    blob to = blob(8192);
    void piece(parameter const&, landed_piece const& piece, borrowed_tensor const& loan,
               lease<support::fake_async::stream>& held) {
      copy_op const op{
          to.data() + piece.where.at.count, loan.unsafe_data({"copied on the lease's stream"}), 1024, 1, 0, 0};
      BOOST_REQUIRE(held.stream().copy({&op, 1}));
    }
  } sink;
  plan_builder b(content);
  b.parameter(1, 8192);
  for (u32 i = 0; i < 8; ++i) b.read(0, i * 1024, 1024).place(0, 0, 1024, i * 1024);
  b.memory(1, 1, 1, 1024);
  auto const p = b.finish();
  fake_storage storage;
  support::fake_async device(1, 300);
  BOOST_REQUIRE((executor<fake_storage, support::fake_async>(storage, device).load(p, objects_of(content), sink)));
  BOOST_TEST((sink.to == support::expected(p, content)[0]));
}

BOOST_AUTO_TEST_CASE(slots_are_allocated_only_if_a_read_needs_one_and_the_peak_is_what_was_had) {
  auto const p = three().finish();
  memory_sink direct(p), slots(p);
  auto const a = load(p, direct, with_direct(always_direct));
  auto const b = load(p, slots, with_direct(never_direct));
  BOOST_REQUIRE((a && b));
  BOOST_TEST(a->peak_host_bytes.count == 0u);
  BOOST_TEST(a->bytes_direct.count == a->bytes_read.count);
  BOOST_TEST(b->peak_host_bytes.count >= 2 * 4096u);
  BOOST_TEST(b->peak_host_bytes.count <= p.memory.limit.count);
  BOOST_TEST(b->bytes_direct.count == 0u);
  BOOST_TEST(b->peak_device_staging_bytes.count == 0u);
}

BOOST_AUTO_TEST_CASE(the_report_counts_what_was_read_and_not_the_zeros) {
  auto const p = three().finish();
  memory_sink sink(p);
  auto const r = load(p, sink);
  BOOST_REQUIRE(r);
  BOOST_TEST(r->bytes_read.count == 4096u + 512 + 3500);
  BOOST_TEST(r->bytes_needed.count == 2048u + 512 + 1024 + 512 + 3000);
  BOOST_TEST(r->bytes_discarded.count == r->bytes_read.count - r->bytes_needed.count);
  BOOST_TEST(r->requests == 3u);
  BOOST_TEST(r->parameters == 4u);
  BOOST_TEST(r->seconds > 0);
  BOOST_TEST(r->lanes == 2u);
  BOOST_TEST(r->slots == 2u);
}

BOOST_AUTO_TEST_CASE(progress_ends_exactly_at_the_bytes_of_the_plan) {
  auto const p = three().finish();
  std::vector<u64> told;
  load_options o;
  o.watch.on_progress = [&](progress const& now) {
    told.push_back(now.done.count);
    BOOST_TEST(now.total.count == p.read.count);
  };
  memory_sink sink(p);
  BOOST_REQUIRE(load(p, sink, o));
  BOOST_TEST(told.front() == 0u);
  BOOST_TEST(told.back() == p.read.count);
}

BOOST_AUTO_TEST_CASE(kept_bytes_meet_their_steps_with_room_for_one_group_exactly) {
  plan_builder b(content);
  for (u32 g = 0; g < 4; ++g) {
    b.parameter(1, 500);
    b.group(8, 2, 2, support::mix);
    b.read(0, g * 1000, 300).keep(g, 0, 4, 0).keep(g, 4, 4, 4).step(g, g, 50, 250, 0);
    b.read(0, g * 1000 + 300, 250).step(g, g, 0, 250, 250);
  }
  auto const p = b.memory(3, 1, 1, 4096, 8).finish();
  memory_sink sink(p);
  auto const r = load(p, sink);
  BOOST_REQUIRE(r);
  BOOST_TEST((sink.parameters == support::expected(p, content)));
  BOOST_TEST(r->peak_retained_bytes.count == 8u);
}

BOOST_AUTO_TEST_CASE(a_plan_without_reads_announces_what_is_complete) {
  plan_builder b(content);
  b.parameter(0, 8);
  auto const p = b.memory(4, 2, 1, 4096).finish();
  memory_sink sink(p);
  auto const r = load(p, sink);
  BOOST_REQUIRE(r);
  BOOST_TEST((sink.announced == std::vector<u32>{0}));
  BOOST_TEST(r->limit == "none");
}

BOOST_AUTO_TEST_CASE(callbacks_overlap_only_where_the_sink_asks_for_it) {
  struct sink_type : memory_sink {
    using memory_sink::memory_sink;
    std::mutex m;
    std::condition_variable both;
    int inside = 0, most = 0;
    std::chrono::milliseconds patience{};
    void ready(parameter const&) {
      std::unique_lock lock(m);
      most = std::max(most, ++inside);
      both.notify_all();
      both.wait_for(lock, patience, [&] { return most == 2; });
      --inside;
    }
  };
  plan_builder b(content);
  for (u32 i = 0; i < 2; ++i) b.parameter(1, 1024), b.read(0, i * 1024, 1024).place(i, 0, 1024, 0);
  auto const p = b.memory(2, 1, 1, 4096).finish();
  for (bool serial : {true, false}) {
    sink_type sink(p);
    sink.patience = std::chrono::milliseconds(serial ? 100 : 20000);
    load_options o;
    o.serial_sink = serial;
    fake_storage storage;
    device::host host;
    BOOST_REQUIRE((executor<fake_storage, device::host>(storage, host).load(p, objects_of(content), sink, o)));
    BOOST_TEST(sink.most == (serial ? 1 : 2));
  }
}

BOOST_AUTO_TEST_CASE(readiness_tells_layers_and_serves_a_second_load) {
  auto const p = three().finish();
  readiness ready(p);
  load_options o;
  o.ready = &ready;
  for (int i = 0; i < 2; ++i) {
    memory_sink sink(p);
    BOOST_REQUIRE(load(p, sink, o));
    BOOST_TEST(ready.layers_ready() == 2u);
    for (u32 q = 0; q < 4; ++q) BOOST_TEST(ready.ready(param_id{q}));
  }
}

BOOST_AUTO_TEST_SUITE_END()
