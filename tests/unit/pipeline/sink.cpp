#include <penstock/device/host.hpp>
#include <penstock/pipeline/own.hpp>
#include <penstock/pipeline/sink.hpp>

#include <boost/test/unit_test.hpp>

using namespace penstock;

namespace {
using stream = device::host::stream;
struct places {
  placement destination(parameter const&) { return {}; }
};
struct names_a_pointer {
  std::byte* destination(parameter const&) { return nullptr; }
};
struct borrows {
  void piece(parameter const&, landed_piece const&, borrowed_tensor const&, lease<stream>&) {}
};
struct without_a_loan {
  void piece(parameter const&, landed_piece const&, lease<stream>&) {}
};
}  // namespace

BOOST_AUTO_TEST_SUITE(pipeline_sink)

BOOST_AUTO_TEST_CASE(a_sink_is_known_by_the_one_member_that_it_needs) {
  BOOST_TEST(placing_sink<places>);
  BOOST_TEST(!placing_sink<names_a_pointer>);
  BOOST_TEST((borrowing_sink<borrows, stream>));
  BOOST_TEST((!borrowing_sink<without_a_loan, stream>));
  BOOST_TEST((penstock::detail::check_sink<places, device::host>()));
  BOOST_TEST((penstock::detail::check_sink<borrows, device::host>()));
}

BOOST_AUTO_TEST_CASE(an_own_sink_allocates_and_does_not_place) {
  auto const take = [](parameter const&, owned_tensor<host_memory>) {};
  using sink = own_sink<host_memory, decltype(take)>;
  BOOST_TEST(allocating_sink<sink>);
  BOOST_TEST(!placing_sink<sink>);
  BOOST_TEST((penstock::detail::check_sink<sink, device::host>()));
}

BOOST_AUTO_TEST_SUITE_END()
