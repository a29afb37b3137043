/// The bug that this library was made for, through `unsafe_data`: addresses that are kept past their lease, in real loads
/// through a ring of two small slots. What the compiler would have refused as loans goes wrong here in known ways.
#include <penstock/device/host.hpp>
#include <penstock/pipeline/executor.hpp>
#include <penstock/storage/memory.hpp>

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstring>

#include "../../support/death.hpp"
#include "../../support/memory_sink.hpp"

using namespace penstock;
using support::blob;

namespace {
constexpr std::size_t slot = 1024;
using stream = device::host::stream;

/// Tensors of equal size, one behind the other in one file, that are loaded by one lane with two slots. A read has landed
/// and its slot is poisoned before the next one begins, which takes the same slot.
class tensors {
 public:
  tensors(std::size_t count, std::size_t size) : content_{support::pattern(count * size)}, size_(size) {
    store_.add("m/file", content_[0]);
  }
  blob operator[](std::size_t i) const { return {content_[0].begin() + at(i), content_[0].begin() + at(i + 1)}; }

  template <class Sink>
  void load_into(Sink& sink) const {
    support::plan_builder b(content_);
    for (std::size_t first = 0; first < content_[0].size(); first += slot) {
      b.read(0, first, slot);
      for (u32 from = 0; from < slot; from += static_cast<u32>(size_))
        b.place(b.parameter(1, size_), from, static_cast<u32>(size_), 0);
    }
    auto const plan = b.memory(1, 2, 1, slot).finish();
    std::string const name = "file";
    auto const objects = store_.pin(*uri::parse("memory://m"), {&name, 1});
    BOOST_REQUIRE(objects);
    device::host host;
    executor<storage::memory, device::host> run(store_, host);
    BOOST_REQUIRE(run.load(plan, *objects, sink));
  }

 private:
  std::ptrdiff_t at(std::size_t i) const { return static_cast<std::ptrdiff_t>(i * size_); }
  std::vector<blob> content_;
  std::size_t size_;
  mutable storage::memory store_;
};

blob joined(blob a, blob const& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}
blob read_at(std::byte const* p, std::size_t n) { return blob(p, p + n); }
/// Is every byte what a slot is filled with when its lease ends, a NaN in every format of numbers?
[[maybe_unused]] bool poisoned(blob const& b) {
  float first = 0;
  std::memcpy(&first, b.data(), sizeof first);
  return std::isnan(first) && b == blob(b.size(), std::byte{0xff});
}

/// q_a_proj has to wait for kv_a_proj_with_mqa; between them other tensors pass.
constexpr std::size_t q_a = 0, q_b = 1, kv_a = 3;
tensors attention() { return {4, slot}; }

/// Fuses as the engine did that answered "!!!!".
struct fuses_by_pointer {
  std::byte const* kept = nullptr;
  blob after_the_next_read{}, fused{};
  void piece(parameter const& p, landed_piece const&, borrowed_tensor const& t, lease<stream>&) {
    if (index_of(p.id) == q_a) kept = t.unsafe_data({"the bug that this test shows"});
    if (index_of(p.id) == q_b) after_the_next_read = read_at(kept, slot);
    if (index_of(p.id) != kv_a) return;
    fused = read_at(kept, slot);
    fused.resize(2 * slot);
    t.copy_to(fused.data() + slot, {}, bytes{slot});
  }
};
struct fuses_what_it_owns {
  owned_tensor<host_memory> kept{};
  blob fused{};
  void piece(parameter const& p, landed_piece const&, borrowed_tensor const& t, lease<stream>&) {
    if (index_of(p.id) == q_a) kept = t.to_owned().value();
    if (index_of(p.id) != kv_a) return;
    fused = read_at(kept.data(), slot);
    fused.resize(2 * slot);
    t.copy_to(fused.data() + slot, {}, bytes{slot});
  }
};
/// Looks at what it kept as soon as q_a_proj is complete: its lease is over, and the slot is not refilled yet.
struct looks_before_the_refill {
  std::byte const* kept = nullptr;
  blob seen{};
  void piece(parameter const& p, landed_piece const&, borrowed_tensor const& t, lease<stream>&) {
    if (index_of(p.id) == q_a) kept = t.unsafe_data({"the bug that this test shows"});
  }
  void ready(parameter const& p) {
    if (index_of(p.id) == q_a) seen = read_at(kept, slot);
  }
};

/// Small weights of a vision tower, four to a slot, all collected before the first is used.
constexpr std::size_t weights = 12, weight_size = 256, in_a_slot = slot / weight_size;
tensors vision() { return {weights, weight_size}; }
struct lists_pointers {
  std::size_t look_when_ready = weights;
  std::vector<std::byte const*> list{};
  std::vector<blob> seen{};
  void look() {
    for (auto* p : list) seen.push_back(read_at(p, weight_size));
  }
  void piece(parameter const&, landed_piece const&, borrowed_tensor const& t, lease<stream>&) {
    list.push_back(t.unsafe_data({"the bug that this test shows"}));
    if (list.size() == weights) look();
  }
  void ready(parameter const& p) {
    if (index_of(p.id) == look_when_ready) look();
  }
};
struct lists_what_it_owns {
  std::vector<owned_tensor<host_memory>> list{};
  void piece(parameter const&, landed_piece const&, borrowed_tensor const& t, lease<stream>&) {
    list.push_back(t.to_owned().value());
  }
};
}  // namespace

BOOST_AUTO_TEST_SUITE(pipeline_kept_pointers)

BOOST_AUTO_TEST_CASE(an_owned_tensor_waits_with_its_own_bytes) {
  auto const t = attention();
  fuses_what_it_owns sink;
  t.load_into(sink);
  BOOST_TEST((sink.fused == joined(t[q_a], t[kv_a])));
}

BOOST_AUTO_TEST_CASE(after_the_refill_a_kept_pointer_reads_another_tensor_and_nothing_sees_it) {
  auto const t = attention();
  fuses_by_pointer sink;
  t.load_into(sink);
  BOOST_TEST((t[q_a] != t[q_b] && t[q_a] != t[kv_a]));
  BOOST_TEST((sink.after_the_next_read == t[q_b]));
  BOOST_TEST((sink.fused == joined(t[kv_a], t[kv_a])));
}

BOOST_AUTO_TEST_CASE(a_list_of_owned_weights_has_their_bytes) {
  auto const t = vision();
  lists_what_it_owns sink;
  t.load_into(sink);
  BOOST_REQUIRE(sink.list.size() == weights);
  for (std::size_t i = 0; i < weights; ++i) BOOST_TEST((read_at(sink.list[i].data(), weight_size) == t[i]));
}

BOOST_AUTO_TEST_CASE(a_list_of_pointers_reads_the_weights_that_came_last) {
  auto const t = vision();
  lists_pointers sink;
  t.load_into(sink);
  BOOST_REQUIRE(sink.seen.size() == weights);
  BOOST_TEST((t[0] != t[weights - in_a_slot]));
  for (std::size_t i = 0; i < weights; ++i) BOOST_TEST((sink.seen[i] == t[weights - in_a_slot + i % in_a_slot]));
}

#if PENSTOCK_ASAN
BOOST_AUTO_TEST_CASE(before_the_refill_the_sanitizer_stops_a_look_through_a_kept_pointer) {
  auto const stopped = [](auto sink, tensors const& t) {
    return support::dies([&] { t.load_into(sink); }).words.find("use-after-poison") != std::string::npos;
  };
  BOOST_TEST(stopped(looks_before_the_refill{}, attention()));
  BOOST_TEST(stopped(lists_pointers{in_a_slot - 1}, vision()));
}
#elif PENSTOCK_CHECKED
BOOST_AUTO_TEST_CASE(before_the_refill_a_kept_pointer_reads_numbers_that_are_none) {
  looks_before_the_refill sink;
  attention().load_into(sink);
  BOOST_TEST(poisoned(sink.seen));

  lists_pointers list{in_a_slot - 1};
  vision().load_into(list);
  BOOST_REQUIRE(list.seen.size() == in_a_slot + weights);
  for (std::size_t i = 0; i < in_a_slot; ++i) BOOST_TEST(poisoned(list.seen[i]));
}
#endif

BOOST_AUTO_TEST_SUITE_END()
