#include <penstock/tensor/lease.hpp>

#include <any>
#include <array>
#include <boost/test/unit_test.hpp>
#include <cstring>
#include <optional>
#include <type_traits>
#include <vector>

#include "../../support/death.hpp"

using namespace penstock;

namespace {
template <class T> concept has_address = requires(T& t) { &t; };
template <class T> concept can_be_new = requires(T const& t) { new T(t); };
template <class T>
concept converts_to_pointer =
    std::is_convertible_v<T const&, std::byte const*> || std::is_convertible_v<T const&, void const*>;

std::array<std::byte, 8> const eight{std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4},
                                     std::byte{5}, std::byte{6}, std::byte{7}, std::byte{8}};
}  // namespace

BOOST_AUTO_TEST_SUITE(tensor_borrowed)

BOOST_AUTO_TEST_CASE(a_loan_cannot_be_kept_by_value) {
  BOOST_TEST(!std::is_copy_constructible_v<borrowed_tensor>);
  BOOST_TEST(!std::is_move_constructible_v<borrowed_tensor>);
  BOOST_TEST(!std::is_default_constructible_v<borrowed_tensor>);
  BOOST_TEST(!std::is_copy_assignable_v<borrowed_tensor>);
  BOOST_TEST(!std::is_trivially_copyable_v<borrowed_tensor>);
  BOOST_TEST((!std::is_constructible_v<std::any, borrowed_tensor const&>));
  BOOST_TEST((!std::is_assignable_v<std::optional<borrowed_tensor>&, borrowed_tensor const&>));
  BOOST_TEST(!can_be_new<borrowed_tensor>);
}

BOOST_AUTO_TEST_CASE(a_loan_gives_no_address_unasked) {
  BOOST_TEST(!has_address<borrowed_tensor const>);
  BOOST_TEST(!converts_to_pointer<borrowed_tensor>);
}

BOOST_AUTO_TEST_CASE(bytes_are_copied_out_and_parts_are_looked_at) {
  penstock::detail::loans loans;
  loans.lend(eight.data(), bytes{8}, [](borrowed_tensor const& t) {
    BOOST_TEST(t.size().count == 8u);
    std::array<std::byte, 3> some{};
    t.copy_to(some.data(), bytes{2}, bytes{3});
    BOOST_TEST((some == std::array{std::byte{3}, std::byte{4}, std::byte{5}}));
    t.part(bytes{4}, bytes{4}, [](borrowed_tensor const& half) {
      BOOST_TEST(half.size().count == 4u);
      std::byte first{};
      half.copy_to(&first, bytes{}, bytes{1});
      BOOST_TEST((first == std::byte{5}));
    });
    t.copy_to(nullptr, bytes{8}, bytes{});
  });
}

BOOST_AUTO_TEST_CASE(an_owned_copy_outlives_the_lease) {
  penstock::detail::loans loans;
  std::array<std::byte, 8> slot = eight;
  auto kept = loans.lend(slot.data(), bytes{8}, [](borrowed_tensor const& t) { return t.to_owned(); });
  slot.fill(std::byte{0});
  BOOST_REQUIRE(kept);
  BOOST_TEST(std::memcmp(kept->data(), eight.data(), 8) == 0);
}

BOOST_AUTO_TEST_CASE(a_part_outside_of_the_loan_stops_the_program) {
  auto const end = support::dies([] {
    penstock::detail::loans loans;
    loans.lend(eight.data(), bytes{8},
               [](borrowed_tensor const& t) { t.part(bytes{6}, bytes{3}, [](borrowed_tensor const&) {}); });
  });
  BOOST_TEST(end.aborted);
  BOOST_TEST(end.words.find("outside of it") != std::string::npos);
}

#if PENSTOCK_CHECKED
BOOST_AUTO_TEST_CASE(a_stale_loan_stops_the_program_also_after_later_loans) {
  auto const end = support::dies([] {
    penstock::detail::loans loans;
    borrowed_tensor const* stale = nullptr;
    loans.lend(eight.data(), bytes{8}, [&](borrowed_tensor const& t) { stale = std::addressof(t); });
    for (unsigned i = 1; i < penstock::detail::loans::cells; ++i)
      loans.lend(eight.data(), bytes{8}, [](borrowed_tensor const&) {});
    (void)stale->size();
  });
  BOOST_TEST(end.aborted);
  BOOST_TEST(end.words.find("after its lease ended; keep to_owned() instead") != std::string::npos);
}
#endif

BOOST_AUTO_TEST_CASE(only_what_carries_no_loan_leaves_a_lease) {
  BOOST_TEST(may_leave_a_lease<void>);
  BOOST_TEST(may_leave_a_lease<double>);
  BOOST_TEST(may_leave_a_lease<owned_tensor<host_memory>>);
  BOOST_TEST((may_leave_a_lease<result<owned_tensor<host_memory>>>));
  BOOST_TEST(!may_leave_a_lease<borrowed_tensor const*>);
  BOOST_TEST(!may_leave_a_lease<std::vector<int>>);
}

BOOST_AUTO_TEST_SUITE_END()
