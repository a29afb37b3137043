#include <penstock/tensor/lease.hpp>

#include <array>
#include <boost/test/unit_test.hpp>
#include <stdexcept>
#include <type_traits>

#include "../../support/death.hpp"

using namespace penstock;

namespace {
std::array<std::byte, 4> const four{};
}

BOOST_AUTO_TEST_SUITE(tensor_lease)

BOOST_AUTO_TEST_CASE(a_lease_stays_where_it_is_and_gives_its_stream) {
  int stream = 3;
  lease<int> const held(stream);
  BOOST_TEST(&held.stream() == &stream);
  BOOST_TEST(!std::is_copy_constructible_v<lease<int>>);
  BOOST_TEST(!std::is_copy_assignable_v<lease<int>>);
}

BOOST_AUTO_TEST_CASE(lending_returns_what_the_callback_returns) {
  penstock::detail::loans loans;
  BOOST_TEST(loans.lend(four.data(), bytes{4}, [](borrowed_tensor const& t) { return t.size().count; }) == 4u);
}

#if PENSTOCK_CHECKED
BOOST_AUTO_TEST_CASE(a_loan_ends_with_a_callback_that_throws) {
  auto const end = support::dies([] {
    penstock::detail::loans loans;
    borrowed_tensor const* stale = nullptr;
    try {
      loans.lend(four.data(), bytes{4}, [&](borrowed_tensor const& t) {
        stale = std::addressof(t);
        throw std::runtime_error("a callback");
      });
    } catch (std::runtime_error const&) { (void)stale->size(); }
  });
  BOOST_TEST(end.aborted);
}
#endif

BOOST_AUTO_TEST_SUITE_END()
