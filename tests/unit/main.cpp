/// The main function of the unit tests. It is written out, not made by a macro, so that Boost.Test can come from a
/// precompiled header; and a whole run, one without a filter, in which a test case was skipped or disabled fails.
#include <boost/test/results_collector.hpp>
#include <boost/test/unit_test.hpp>
#include <cstdio>
#include <cstdlib>

namespace {
namespace ut = boost::unit_test;

bool init() {
  ut::framework::master_test_suite().p_name.value = "penstock";
  return true;
}
}  // namespace

int main(int argc, char** argv) {
  int const status = ut::unit_test_main(&init, argc, argv);
  if (status != 0 || argc > 1) return status;
  unsigned long const skipped =
      ut::results_collector.results(ut::framework::master_test_suite().p_id).p_test_cases_skipped;
  if (skipped == 0) return EXIT_SUCCESS;
  std::fprintf(stderr, "%lu test cases were skipped: each has to run\n", skipped);
  return EXIT_FAILURE;
}
