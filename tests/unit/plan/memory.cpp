#include <penstock/plan/memory.hpp>

#include <boost/test/unit_test.hpp>

using namespace penstock;

BOOST_AUTO_TEST_SUITE(plan_memory)
BOOST_AUTO_TEST_CASE(what_the_storage_likes_is_used_where_it_fits) {
  plan_options o;
  o.memory_limit = mebibytes(64);
  auto const m = detail::divide_memory(o, bytes{}).value();
  BOOST_TEST(m.lanes == 4u);
  BOOST_TEST(m.slots == 2u);
  BOOST_TEST(m.slot.count == mebibytes(4).count);
  o.storage = {mebibytes(1), mebibytes(100), 1, 8, kibibytes(528)};
  auto const http = detail::divide_memory(o, bytes{}).value();
  BOOST_TEST(http.depth == 8u);
  BOOST_TEST(http.slots == 9u);
  BOOST_TEST((http.total() <= o.memory_limit));
}
BOOST_AUTO_TEST_CASE(a_smaller_limit_is_kept_down_to_a_page) {
  plan_options o;
  o.storage = {mebibytes(1), mebibytes(100), 1, 8, kibibytes(528)};
  for (u64 limit = 600u << 10; limit < 80u << 20; limit += 333'333) {
    o.memory_limit = bytes{limit};
    auto const m = detail::divide_memory(o, bytes{});
    BOOST_TEST_REQUIRE(m.has_value());
    BOOST_TEST((m->total() <= o.memory_limit));
  }
  o.storage = {};
  o.memory_limit = bytes{4096};
  BOOST_TEST(detail::divide_memory(o, bytes{}).value().total().count == 4096u);
  o.memory_limit = bytes{4095};
  auto const none = detail::divide_memory(o, bytes{});
  BOOST_TEST_REQUIRE(!none);
  BOOST_TEST((none.error().kind() == error_kind::plan));
  BOOST_TEST(none.error().message().find("4096") != std::string::npos);
}
BOOST_AUTO_TEST_CASE(a_slot_that_was_asked_for_is_kept_or_refused) {
  plan_options o;
  o.slot = mebibytes(8), o.memory_limit = mebibytes(10);
  auto const m = detail::divide_memory(o, bytes{}).value();
  BOOST_TEST(m.slot.count == mebibytes(8).count);
  BOOST_TEST(m.slots == 1u);
  o.memory_limit = mebibytes(7);
  BOOST_TEST((detail::divide_memory(o, bytes{}).error().kind() == error_kind::plan));
  o.slot = bytes{100};
  BOOST_TEST((detail::divide_memory(o, bytes{}).error().kind() == error_kind::usage));
}
BOOST_AUTO_TEST_CASE(kept_bytes_count) {
  plan_options o;
  o.slot = mebibytes(1), o.memory_limit = mebibytes(2);
  BOOST_TEST(detail::divide_memory(o, mebibytes(1)).has_value());
  BOOST_TEST(!detail::divide_memory(o, mebibytes(2)).has_value());
}
BOOST_AUTO_TEST_SUITE_END()
