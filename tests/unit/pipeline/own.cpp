#include <penstock/pipeline/own.hpp>

#include <boost/test/unit_test.hpp>

using namespace penstock;

namespace {
plan one_parameter(u64 size) {
  plan p;
  p.layers = 1;
  p.parameters.push_back({"w", dtype::uint8, {size}, bytes{size}, bytes{size}, layer_id{0}, param_id{0}, 1});
  return p;
}
struct empty_handed {
  static constexpr memory_space space = memory_space::host;
  static void* allocate(std::size_t) noexcept { return nullptr; }
  static void release(void*, std::size_t) noexcept {}
};
}  // namespace

BOOST_AUTO_TEST_SUITE(pipeline_own)

BOOST_AUTO_TEST_CASE(a_tensor_is_handed_over_with_the_address_that_it_was_written_at) {
  auto const p = one_parameter(8);
  owned_tensor<host_memory> got;
  auto sink = make_own_sink<host_memory>(p, [&](parameter const&, owned_tensor<host_memory> t) { got = std::move(t); });
  auto const to = sink.allocate(p.parameters[0]);
  BOOST_REQUIRE(to);
  to->at[7] = std::byte{9};
  sink.ready(p.parameters[0]);
  BOOST_TEST(got.data() == to->at);
  BOOST_TEST(got.size().count == 8u);
  BOOST_TEST((got.data()[7] == std::byte{9}));
}

BOOST_AUTO_TEST_CASE(no_memory_is_a_memory_error_that_names_the_parameter) {
  auto const p = one_parameter(8);
  auto sink = make_own_sink<empty_handed>(p, [](parameter const&, owned_tensor<empty_handed>) {});
  auto const to = sink.allocate(p.parameters[0]);
  BOOST_REQUIRE(!to);
  BOOST_TEST((to.error().kind() == error_kind::memory));
  BOOST_TEST(to.error().where().tensor == "w");
}

BOOST_AUTO_TEST_SUITE_END()
