#include <penstock/device/host.hpp>

#include <array>
#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <utility>

using namespace penstock;
using device::host;
using device::host_pages;

namespace {
struct elsewhere : host_memory {
  static constexpr memory_space space = memory_space::cuda;
};
}  // namespace

BOOST_AUTO_TEST_SUITE(device_host)

BOOST_AUTO_TEST_CASE(pages_are_whole_aligned_and_zero) {
  auto const p = host_pages::allocate(bytes{5000});
  BOOST_REQUIRE(p);
  BOOST_TEST(p->size() == 8192u);
  BOOST_TEST(reinterpret_cast<std::uintptr_t>(p->data()) % 4096 == 0u);
  BOOST_TEST((p->data()[8191] == std::byte{0}));
}

BOOST_AUTO_TEST_CASE(no_pages_are_needed_for_nothing_and_they_move) {
  auto none = host_pages::allocate(bytes{});
  BOOST_REQUIRE(none);
  BOOST_TEST(none->size() == 0u);
  auto some = host_pages::allocate(bytes{1});
  BOOST_REQUIRE(some);
  auto* const at = some->data();
  host_pages moved = std::move(*some);
  BOOST_TEST(moved.data() == at);
  moved = std::move(*none);
  BOOST_TEST(moved.size() == 0u);
}

BOOST_AUTO_TEST_CASE(memory_that_cannot_be_had_is_a_memory_error) {
  auto const p = host_pages::allocate(bytes{u64{1} << 60});
  BOOST_REQUIRE(!p);
  BOOST_TEST((p.error().kind() == error_kind::memory));
}

BOOST_AUTO_TEST_CASE(rows_are_copied_by_their_pitches) {
  std::array<std::byte, 6> from{};
  for (std::size_t i = 0; i < 6; ++i) from[i] = static_cast<std::byte>(i + 1);
  std::array<std::byte, 8> to{};
  std::array const ops{copy_op{to.data(), from.data(), 2, 3, 3, 2},
                       copy_op{to.data() + 2, from.data() + 5, 1, 1, 0, 0}};
  BOOST_REQUIRE(host::stream{}.copy(ops));
  std::array<int, 8> const want{1, 2, 6, 3, 4, 0, 5, 6};
  for (std::size_t i = 0; i < 8; ++i) BOOST_TEST(static_cast<int>(to[i]) == want[i]);
}

BOOST_AUTO_TEST_CASE(the_host_reaches_everything_and_writes_host_memory_only) {
  std::byte b{};
  BOOST_TEST(host{}.reaches(&b));
  BOOST_TEST(host::writes<host_memory>);
  BOOST_TEST(!host::writes<elsewhere>);
}

BOOST_AUTO_TEST_SUITE_END()
