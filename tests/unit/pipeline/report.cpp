#include <penstock/pipeline/report.hpp>

#include <boost/test/unit_test.hpp>

using namespace penstock;

BOOST_AUTO_TEST_SUITE(pipeline_report)

BOOST_AUTO_TEST_CASE(the_json_has_every_name_once_and_in_order) {
  report r;
  r.seconds = 1.5, r.bytes_needed = bytes{10}, r.bytes_read = bytes{12}, r.bytes_discarded = bytes{2};
  r.requests = 3, r.retries = 1, r.tensors = 4, r.parameters = 5;
  r.peak_host_bytes = bytes{6}, r.peak_device_staging_bytes = bytes{7}, r.peak_retained_bytes = bytes{8};
  r.cpu_seconds = 0.25, r.stages.read = {0.5, 0.125}, r.limit = "storage", r.bytes_direct = bytes{9};
  r.lanes = 2, r.slots = 3, r.slot_bytes = bytes{4096}, r.depth = 1;
  BOOST_TEST(to_json(r) ==
             R"({"seconds":1.500000,"bytes_needed":10,"bytes_read":12,"bytes_discarded":2,"bytes_exchanged":0,)"
             R"("requests":3,"retries":1,"tensors":4,"parameters":5,"peak_host_bytes":6,"peak_device_staging_bytes":7,)"
             R"("peak_retained_bytes":8,"cpu_seconds":0.250000,"stages":{"read":{"busy":0.500000,"waiting":0.125000},)"
             R"("land":{"busy":0.000000,"waiting":0.000000},"drain":{"busy":0.000000,"waiting":0.000000}},)"
             R"("limit":"storage","bytes_direct":9,"lanes":2,"slots":3,"slot_bytes":4096,"depth":1})");
}

BOOST_AUTO_TEST_CASE(the_limit_is_the_stage_that_took_most) {
  using penstock::detail::judged_limit;
  stage_times t;
  BOOST_TEST(judged_limit(t) == "none");
  t.read.busy = 3, t.land.busy = 2;
  BOOST_TEST(judged_limit(t) == "storage");
  t.drain.waiting = 2;
  BOOST_TEST(judged_limit(t) == "copy");
  t.read.waiting = 5;
  BOOST_TEST(judged_limit(t) == "memory limit");
}

BOOST_AUTO_TEST_SUITE_END()
