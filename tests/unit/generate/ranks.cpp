#include "../../../examples/generate/ranks.hpp"

#include <boost/test/unit_test.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

BOOST_AUTO_TEST_SUITE(generate_ranks)

BOOST_AUTO_TEST_CASE(every_rank_is_called_once) {
  std::vector<int> calls(5);
  generate::on_ranks(5, [&](std::size_t rank, std::stop_token) { ++calls[rank]; });
  BOOST_TEST(calls == std::vector<int>(5, 1), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(the_first_exception_stops_the_others_and_passes_through) {
  int stopped = 0;  // of the one other rank
  BOOST_CHECK_EXCEPTION(generate::on_ranks(2,
                                           [&](std::size_t rank, std::stop_token stop) {
                                             if (rank == 1) throw std::runtime_error{"rank 1"};
                                             while (!stop.stop_requested()) std::this_thread::yield();
                                             ++stopped;
                                             throw std::runtime_error{"stopped"};
                                           }),
                        std::runtime_error,
                        [](std::runtime_error const& e) { return std::string{e.what()} == "rank 1"; });
  BOOST_TEST(stopped == 1);
}

BOOST_AUTO_TEST_SUITE_END()
