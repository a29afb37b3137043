#include <penstock/storage/memory.hpp>

#include <array>
#include <thread>

#include "folder.hpp"

namespace {
using namespace penstock;
using fixture::has;
using storage::memory;

uri root_of(std::string_view text) { return *uri::parse(text); }

result<std::string> read(memory const& store, std::vector<memory::object> const& objects, byte_range range) {
  std::string content(static_cast<std::size_t>(range.size.count), '?');
  std::array<scatter, 2> const to{
      {{reinterpret_cast<std::byte*>(content.data()), content.size() / 2},
       {reinterpret_cast<std::byte*>(content.data()) + content.size() / 2, content.size() - content.size() / 2}}};
  auto lane = store.open_lane(objects, 0, 1).value();
  lane->submit({.from = &objects[0], .range = range, .to = to, .tag = 3});
  std::array<completion, 2> done;
  BOOST_REQUIRE(lane->wait(done, {}) == 1u);
  if (done[0].failed) return std::move(*done[0].failed);
  return content;
}
result<std::vector<memory::object>> pin(memory const& store, uri const& root, std::vector<std::string> const& names) {
  return store.pin(root, names);
}
}  // namespace

BOOST_AUTO_TEST_SUITE(storage_memory)

BOOST_AUTO_TEST_CASE(objects_that_were_added_are_read_below_their_root) {
  static_assert(storage_backend<memory>);
  memory store;
  store.add("m/config.json", "{}");
  store.add("m/sub/x", std::vector<std::byte>(5, std::byte{'x'}));
  store.add("m2/other", "");
  store.add("m.txt", "");
  for (auto root : {"memory://m", "memory://m/", "MEMORY://m"}) {
    auto const listed = store.list(root_of(root)).value();
    BOOST_REQUIRE(listed.size() == 2u);
    BOOST_TEST(listed[0].name == "config.json");
    BOOST_TEST(listed[1].name == "sub/x");
    BOOST_TEST(listed[1].size.count == 5u);
  }
  auto const objects = pin(store, root_of("memory://m"), {"sub/x", "config.json"}).value();
  BOOST_TEST(objects[0].size().count == 5u);
  BOOST_TEST(read(store, objects, {bytes{1}, bytes{3}}).value() == "xxx");
  BOOST_TEST(read(store, objects, {bytes{5}, bytes{0}}).value().empty());
  BOOST_TEST(!read(store, objects, {bytes{5}, bytes{1}}).has_value());
}

BOOST_AUTO_TEST_CASE(all_that_is_missing_is_named) {
  memory store;
  store.add("m/b", "");
  auto const got = pin(store, root_of("memory://m"), {"a", "b", "c"});
  BOOST_REQUIRE(!got);
  BOOST_TEST((got.error().kind() == error_kind::not_found));
  BOOST_TEST(has(got.error().message(), "a, c"));
  BOOST_TEST((store.list(root_of("memory://gone")).error().kind() == error_kind::not_found));
  BOOST_TEST((pin(store, root_of("memory://m"), {"../b"}).error().kind() == error_kind::config));
}

BOOST_AUTO_TEST_CASE(an_object_replaced_or_removed_after_the_pin_is_changed) {
  memory store;
  store.add("m/a", "1234");
  auto const first = pin(store, root_of("memory://m"), {"a"}).value();
  store.add("m/a", "1234");
  auto const replaced = read(store, first, {bytes{}, bytes{4}});
  BOOST_REQUIRE(!replaced);
  BOOST_TEST((replaced.error().kind() == error_kind::changed));
  auto const second = pin(store, root_of("memory://m"), {"a"}).value();
  BOOST_TEST(first[0].version() != second[0].version());
  BOOST_TEST(read(store, second, {bytes{}, bytes{4}}).value() == "1234");
  store.remove("m/a");
  BOOST_TEST((read(store, second, {bytes{}, bytes{4}}).error().kind() == error_kind::changed));
}

BOOST_AUTO_TEST_CASE(copies_share_their_objects) {
  memory store;
  memory const copy = store;
  store.add("m/a", "1234");
  BOOST_TEST(copy.list(root_of("memory://m")).value().size() == 1u);
}

BOOST_AUTO_TEST_CASE(objects_may_be_added_while_others_are_read) {
  memory store;
  store.add("m/a", "1234");
  auto const objects = pin(store, root_of("memory://m"), {"a"}).value();
  std::thread writer{[&] {
    for (int i = 0; i < 1000; ++i) store.add("m/" + std::to_string(i), "x");
  }};
  bool fine = true;
  for (int i = 0; i < 200; ++i) fine = fine && read(store, objects, {bytes{}, bytes{4}}).value() == "1234";
  writer.join();
  BOOST_TEST(fine);
}
BOOST_AUTO_TEST_SUITE_END()
