/// Parameters that are made of others when these are complete.
#include <penstock/pipeline/executor.hpp>
#include <penstock/pipeline/readiness.hpp>
#include <penstock/quant/fp8_block.hpp>
#include <penstock/quant/none.hpp>

#include <boost/test/unit_test.hpp>

#include "../../support/fake_async.hpp"
#include "../../support/memory_sink.hpp"

using namespace penstock;
using support::blob;
using support::fake_storage;
using support::memory_sink;
using support::objects_of;

namespace {
/// A linear [4, 2] of two heads of two rows in FP8, scales of blocks 2 x 2, in two reads; of each head the first row is
/// derived transposed, and the second as it is.
struct world {
  std::vector<blob> content{blob(64)};
  plan p;

  world() {
    auto& bytes_of = content[0];
    u8 const weight[] = {0x38, 0x40, 0x30, 0xb8, 0x38, 0x7e, 0x01, 0x00};  // 1 2 .5 -1 | 1 448 2^-9 0
    float const scales[] = {2.0f, 0.5f};
    std::memcpy(bytes_of.data(), weight, 8), std::memcpy(bytes_of.data() + 32, scales, 8);
    p.objects = {"a"};
    p.layers = 1;
    auto add = [&](char const* name, dtype t, shape s, u32 pieces, bool derived) {
      parameter q;
      q.name = name, q.type = t, q.shape = s, q.size = *s.size(t), q.row = bytes{s[s.rank() - 1] * bits_of(t) / 8};
      q.id = param_id{static_cast<u32>(p.parameters.size())}, q.pieces = pieces, q.derived = derived;
      p.parameters.push_back(q);
    };
    add("weight", dtype::f8_e4m3, {4, 2}, 1, false), add("scale", dtype::f32, {2, 1}, 1, false);
    add("first", dtype::bf16, {2, 2, 1}, 0, true), add("second", dtype::bf16, {2, 1, 2}, 0, true);
    derivation d;
    d.sources = {param_id{0}, param_id{1}};
    d.results = {{param_id{2}, 2, 0, 1, true}, {param_id{3}, 2, 1, 1, false}};
    d.n = 4, d.k = 2, d.unit = {2, 2}, d.numbers = &quant::fp8_block::dequantise;
    p.derivations.push_back(d);
    auto read = [&](u64 first, u32 to) {
      plan_copy c;
      c.to = to, c.width = 8, c.at_pitch = 8, c.from_pitch = 8;
      p.reads.push_back(
          {object_id{0}, 8, first, static_cast<u32>(p.copies.size()), static_cast<u32>(p.copies.size() + 1)});
      p.copies.push_back(c);
    };
    read(0, 0), read(32, 1);
    p.memory.slot = bytes{4096}, p.memory.limit = mebibytes(1);
  }
  template <class Sink>
  result<report> load(Sink& sink, load_options const& o = {}) {
    fake_storage storage;
    device::host device;
    return executor<fake_storage, device::host>(storage, device).load(p, objects_of(content), sink, o);
  }
};
std::vector<float> numbers(std::vector<std::byte> const& of) {
  std::vector<float> out(of.size() / 2);
  floats_of(dtype::bf16, of.data(), out.size(), out.data());
  return out;
}
std::vector<float> const first{2, 4, 0.5f, 224}, second{1, -2, 0x1p-10f, 0};
}  // namespace

BOOST_AUTO_TEST_SUITE(pipeline_derive)

BOOST_AUTO_TEST_CASE(what_is_derived_is_made_of_all_parts_and_announced_after_them) {
  world w;
  memory_sink sink(w.p);
  auto const r = w.load(sink);
  BOOST_TEST_REQUIRE(r.has_value());
  BOOST_TEST(numbers(sink.parameters[2]) == first, boost::test_tools::per_element());
  BOOST_TEST(numbers(sink.parameters[3]) == second, boost::test_tools::per_element());
  BOOST_TEST((sink.announced == std::vector<u32>{0, 1, 2, 3}));
  BOOST_TEST(sink.layers.size() == 1u);
  BOOST_TEST(r->parameters == 4u);
}

BOOST_AUTO_TEST_CASE(owned_parameters_are_handed_over_after_the_step_that_reads_them) {
  world w;
  std::map<std::string, std::vector<std::byte>> got;
  std::vector<std::string> order;
  auto sink = make_own_sink<host_memory>(w.p, [&](parameter const& q, owned_tensor<host_memory> t) {
    got[q.name] = std::vector<std::byte>(t.data(), t.data() + t.size().count);
    order.push_back(q.name);
  });
  BOOST_TEST_REQUIRE(w.load(sink).has_value());
  BOOST_TEST(numbers(got["first"]) == first, boost::test_tools::per_element());
  BOOST_TEST(numbers(got["second"]) == second, boost::test_tools::per_element());
  BOOST_TEST(order.size() == 4u);
}

BOOST_AUTO_TEST_CASE(a_pitched_place_is_kept_to) {
  struct sink_type : memory_sink {
    using memory_sink::memory_sink;
    std::vector<std::byte> wide = std::vector<std::byte>(64, std::byte{7}),
                           rows = std::vector<std::byte>(64, std::byte{7});
    placement destination(parameter const& q) {
      if (q.name == "weight") return {wide.data(), bytes{16}, {}, memory_space::host};
      if (q.name == "second") return {rows.data(), bytes{}, bytes{32}, memory_space::host};
      return memory_sink::destination(q);
    }
  };
  world w;
  sink_type sink(w.p);
  BOOST_TEST_REQUIRE(w.load(sink).has_value());
  BOOST_TEST(numbers(sink.parameters[2]) == first, boost::test_tools::per_element());
  auto const all = numbers(sink.rows);
  BOOST_TEST((all[0] == 1.0f && all[1] == -2.0f && all[16] == 0x1p-10f && all[17] == 0.0f));
  BOOST_TEST((sink.rows[4] == std::byte{7} && sink.rows[36] == std::byte{7}));
}

BOOST_AUTO_TEST_CASE(a_result_or_a_source_that_is_declined_is_not_made) {
  struct sink_type : memory_sink {
    using memory_sink::memory_sink;
    std::string no;
    placement destination(parameter const& q) { return q.name == no ? placement{} : memory_sink::destination(q); }
  };
  for (auto const* no : {"first", "scale"}) {
    world w;
    sink_type sink(w.p);
    sink.no = no;
    readiness ready(w.p);
    load_options o;
    o.ready = &ready;
    BOOST_TEST_REQUIRE(w.load(sink, o).has_value());
    BOOST_TEST(ready.ready(param_id{0}));
    BOOST_TEST(!ready.ready(param_id{2}));
    BOOST_TEST(!ready.wait(param_id{2}).has_value());  // declined: nobody waits for it
    BOOST_TEST(ready.ready(param_id{3}) == (std::string(no) == "first"));
    BOOST_TEST(ready.ready(layer_id{0}));
  }
}

BOOST_AUTO_TEST_CASE(a_borrower_keeps_nothing_so_nothing_is_derived) {
  struct {
    unsigned pieces = 0, ready_count = 0;
    void piece(parameter const&, landed_piece const&, borrowed_tensor const&, lease<device::host::stream>&) {
      ++pieces;
    }
    void ready(parameter const& q) { ready_count += q.derived ? 100 : 1; }
  } sink;
  world w;
  BOOST_TEST_REQUIRE(w.load(sink).has_value());
  BOOST_TEST((sink.pieces == 2u && sink.ready_count == 2u));
}

BOOST_AUTO_TEST_CASE(plain_numbers_keep_every_bit) {
  world w;
  w.p.parameters[0].type = dtype::bf16, w.p.parameters[0].shape = {2, 2}, w.p.parameters[0].row = bytes{4};
  w.p.parameters[2].shape = {1, 2, 1}, w.p.parameters[2].size = bytes{4};
  w.p.parameters[3].shape = {1, 1, 2}, w.p.parameters[3].size = bytes{4};
  auto& d = w.p.derivations[0];
  d.sources = {param_id{0}}, d.n = 2, d.numbers = &quant::none::dequantise;
  u16 const stored[] = {0x7fc1, 0xff80, 0x0001, 0x8000};  // a NaN with a payload, an infinity, a subnormal, minus zero
  std::memcpy(w.content[0].data(), stored, 8);
  memory_sink sink(w.p);
  BOOST_TEST_REQUIRE(w.load(sink).has_value());
  BOOST_TEST(!std::memcmp(sink.parameters[2].data(), stored, 4));
  BOOST_TEST(!std::memcmp(sink.parameters[3].data(), stored + 2, 4));
}

BOOST_AUTO_TEST_CASE(a_plan_whose_derivation_is_of_other_sizes_is_refused) {
  auto refused = [](auto change) {
    world w;
    change(w.p.derivations[0], w.p);
    memory_sink sink(w.p);
    auto const r = w.load(sink);
    return !r && r.error().kind() == error_kind::plan && sink.asked.empty();
  };
  BOOST_TEST(!refused([](auto&, auto&) {}));
  BOOST_TEST(refused([](auto& d, auto&) { d.k = 3; }));
  BOOST_TEST(refused([](auto& d, auto&) { d.unit = {1, 1}; }));
  BOOST_TEST(refused([](auto& d, auto&) { d.unit = {0, 1}; }));
  BOOST_TEST(refused([](auto& d, auto&) { d.numbers = nullptr; }));
  BOOST_TEST(refused([](auto& d, auto&) { d.sources.clear(); }));
  BOOST_TEST(refused([](auto& d, auto&) { d.sources[1] = param_id{9}; }));
  BOOST_TEST(refused([](auto& d, auto&) { d.sources[1] = param_id{0}; }));
  BOOST_TEST(refused([](auto& d, auto&) { d.results[0].to = param_id{1}; }));
  BOOST_TEST(refused([](auto& d, auto&) { d.results[0].count = 2; }));
  BOOST_TEST(refused([](auto& d, auto&) { d.results[0].first = 2; }));
  BOOST_TEST(refused([](auto& d, auto&) { d.results[0].head = 3; }));
  BOOST_TEST(refused([](auto& d, auto&) { d.results[0].head = 0; }));
  BOOST_TEST(refused([](auto&, auto& p) { p.parameters[2].type = dtype::f16; }));
}

BOOST_AUTO_TEST_SUITE_END()
