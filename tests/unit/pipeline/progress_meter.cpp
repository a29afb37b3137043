#include <penstock/pipeline/detail/progress_meter.hpp>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <thread>
#include <vector>

using namespace penstock;
using penstock::detail::progress_meter;

BOOST_AUTO_TEST_SUITE(pipeline_progress_meter)

BOOST_AUTO_TEST_CASE(progress_starts_at_nothing_never_falls_and_ends_at_the_total) {
  std::vector<u64> told;
  observer const o{[&](progress const& p) {
                     told.push_back(p.done.count);
                     BOOST_TEST(p.total.count == 40000u);
                   },
                   {}};
  progress_meter m(o, bytes{40000});
  m.begin();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int k = 0; k < 1000; ++k) m.add(10);
    });
  for (auto& t : threads) t.join();
  BOOST_TEST(told.front() == 0u);
  BOOST_TEST(told.back() == 40000u);
  BOOST_TEST(std::is_sorted(told.begin(), told.end()));
  BOOST_TEST(told.size() <= progress_meter::most_calls + 2);
}

BOOST_AUTO_TEST_CASE(a_load_of_nothing_is_told_once) {
  int calls = 0;
  observer const o{[&](progress const& p) {
                     ++calls;
                     BOOST_TEST(p.total.count == 0u);
                   },
                   {}};
  progress_meter m(o, bytes{});
  m.begin();
  m.add(0);
  BOOST_TEST(calls == 1);
}

BOOST_AUTO_TEST_SUITE_END()
