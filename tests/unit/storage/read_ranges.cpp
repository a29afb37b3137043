#include <penstock/storage/read_ranges.hpp>

#include <map>
#include <numeric>

#include "deep_store.hpp"
#include "folder.hpp"

#include <penstock/storage/local.hpp>

namespace {
using namespace penstock;
using fixture::deep_store;

std::vector<deep_store::object> three(deep_store& store) {
  store.memory.add("m/a", std::string(1000, 'a'));
  store.memory.add("m/b", std::string(2000, 'b'));
  store.memory.add("m/c", "");
  std::vector<std::string> const names{"a", "b", "c"};
  return store.pin(*uri::parse("memory://m"), names).value();
}
}  // namespace

BOOST_AUTO_TEST_SUITE(storage_read_ranges)

BOOST_AUTO_TEST_CASE(every_range_comes_once_with_its_bytes) {
  static_assert(storage_backend<deep_store>);
  deep_store store;
  auto const objects = three(store);
  std::vector<wanted_range> ranges;
  for (u64 i = 0; i < 50; ++i) ranges.push_back({i % 2, {bytes{i * 7}, bytes{i}}});
  ranges.push_back({2, {}});
  std::map<std::size_t, std::string> got;
  auto const take = [&](std::size_t i, std::span<std::byte const> content) -> result<void> {
    BOOST_TEST(!got.count(i));
    got[i].assign(reinterpret_cast<char const*>(content.data()), content.size());
    return {};
  };
  BOOST_REQUIRE(read_ranges(store, objects, ranges, take).has_value());
  BOOST_REQUIRE(got.size() == ranges.size());
  for (std::size_t i = 0; i < 50; ++i) BOOST_TEST(got[i] == std::string(i, i % 2 ? 'b' : 'a'));
  BOOST_TEST(store.seen->most_outstanding == 8u);
  BOOST_TEST(store.seen->alive == 0u);
}

BOOST_AUTO_TEST_CASE(bytes_in_flight_are_bounded_and_a_large_range_is_read_alone) {
  deep_store store;
  auto const objects = three(store);
  std::vector<wanted_range> const ranges(6, {1, {bytes{}, bytes{500}}});
  auto const ignore = [](std::size_t, std::span<std::byte const>) -> result<void> { return {}; };
  BOOST_TEST(read_ranges(store, objects, ranges, ignore, {.in_flight = bytes{1000}}).has_value());
  BOOST_TEST(store.seen->most_outstanding == 2u);
  store.seen->most_outstanding = 0;
  BOOST_TEST(read_ranges(store, objects, ranges, ignore, {.in_flight = bytes{1}}).has_value());
  BOOST_TEST(store.seen->most_outstanding == 1u);
}

BOOST_AUTO_TEST_CASE(the_first_error_ends_the_reading) {
  deep_store store;
  auto const objects = three(store);
  store.memory.add("m/b", "other");
  std::vector<wanted_range> const ranges{{0, {bytes{}, bytes{5}}}, {1, {bytes{}, bytes{5}}}};
  auto const ignore = [](std::size_t, std::span<std::byte const>) -> result<void> { return {}; };
  auto const changed = read_ranges(store, objects, ranges, ignore);
  BOOST_REQUIRE(!changed);
  BOOST_TEST((changed.error().kind() == error_kind::changed));
  int calls = 0;
  auto const refuse = [&](std::size_t, std::span<std::byte const>) -> result<void> {
    ++calls;
    return error{error_kind::config, "not this"};
  };
  std::vector<wanted_range> const fine(5, {0, {bytes{}, bytes{5}}});
  auto const refused = read_ranges(store, objects, fine, refuse);
  BOOST_REQUIRE(!refused);
  BOOST_TEST(refused.error().message() == "not this");
  BOOST_TEST(calls == 1);
  BOOST_TEST(store.seen->alive == 0u);
}

BOOST_AUTO_TEST_CASE(a_store_that_never_answers_can_be_stopped) {
  deep_store store;
  auto const objects = three(store);
  store.stuck = true;
  std::stop_source stop;
  std::thread later{[&] {
    std::this_thread::sleep_for(std::chrono::milliseconds{30});
    stop.request_stop();
  }};
  auto const begin = std::chrono::steady_clock::now();
  auto const got = read_whole(store, objects[0], {.stop = stop.get_token()});
  later.join();
  BOOST_REQUIRE(!got);
  BOOST_TEST((got.error().kind() == error_kind::cancelled));
  BOOST_TEST((std::chrono::steady_clock::now() - begin < std::chrono::seconds{1}));
}

BOOST_AUTO_TEST_CASE(one_object_whole_from_a_file) {
  fixture::folder f;
  f.write("x", "content");
  f.write("empty", "");
  storage::local store;
  std::vector<std::string> const names{"x", "empty"};
  auto const objects = store.pin(f.uri(), names).value();
  BOOST_TEST(read_whole(store, objects[0]).value() == "content");
  BOOST_TEST(read_whole(store, objects[1]).value().empty());
}
BOOST_AUTO_TEST_SUITE_END()
