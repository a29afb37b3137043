#include <penstock/exchange/independent.hpp>

#include <boost/test/unit_test.hpp>

namespace {
struct says_nothing {};
}  // namespace

BOOST_AUTO_TEST_SUITE(exchange_independent)

BOOST_AUTO_TEST_CASE(it_is_an_exchange_and_needs_no_communicator) {
  BOOST_TEST(penstock::exchange_policy<penstock::exchange::independent>);
  BOOST_TEST(!penstock::exchange::independent::needs_communicator);
  BOOST_TEST(!penstock::exchange_policy<says_nothing>);
}

BOOST_AUTO_TEST_SUITE_END()
