#include <penstock/storage/any_of.hpp>

#include "deep_store.hpp"
#include "folder.hpp"

#include <penstock/storage/local.hpp>
#include <penstock/storage/read_ranges.hpp>

namespace {
using namespace penstock;
using fixture::deep_store, fixture::folder, fixture::has;
using storage::local, storage::memory;
using some = storage::any_of<local, memory, deep_store>;

std::vector<some::object> pin(some& store, uri const& root, std::vector<std::string> const& names) {
  return store.pin(root, names).value();
}

/// A store whose answers may be waited for.
struct patient : memory {
  static constexpr std::string_view schemes = "patient://";
  static bool takes(uri const& u) { return u.scheme() == "patient"; }
  static error stopped() { return {error_kind::cancelled, "stopped on request"}; }
  auto pin(uri const& root, std::span<std::string const> names, std::stop_token const& stop = {}) {
    return stop.stop_requested() ? result<std::vector<object>>{stopped()} : memory::pin(root, names);
  }
  auto list(uri const& root, std::stop_token const& stop = {}) {
    return stop.stop_requested() ? result<std::vector<stored_object>>{stopped()} : memory::list(root);
  }
};
}  // namespace

BOOST_AUTO_TEST_SUITE(storage_any_of)

BOOST_AUTO_TEST_CASE(the_scheme_chooses_the_store) {
  static_assert(storage_backend<some>);
  static_assert(storage_backend<storage::any_of<memory>>);
  folder f;
  f.write("x", "from a file");
  some store;
  store.get<memory>().add("m/x", "from memory");
  auto const in_memory = *uri::parse("memory://m");
  BOOST_TEST(store.list(f.uri()).value().size() == 1u);
  BOOST_TEST(store.list(in_memory).value().size() == 1u);
  auto const file = pin(store, f.uri(), {"x"}), object = pin(store, in_memory, {"x"});
  BOOST_TEST(file[0].size().count == 11u);
  BOOST_TEST(file[0].version() != object[0].version());
  BOOST_TEST(read_whole(store, file[0]).value() == "from a file");
  BOOST_TEST(read_whole(store, object[0]).value() == "from memory");
}

BOOST_AUTO_TEST_CASE(the_traits_are_those_of_the_store_used_last) {
  folder f;
  some store;
  BOOST_TEST(traits_of(store).depth == 1u);
  store.get<deep_store>().memory.add("m/x", "1");
  BOOST_REQUIRE(store.list(*uri::parse("deep://m")).has_value());
  BOOST_TEST(traits_of(store).depth == 8u);
  BOOST_TEST((traits_of(store).gap == kibibytes(256)));
  BOOST_REQUIRE(store.list(f.uri()).has_value());
  BOOST_TEST(traits_of(store).depth == 1u);
}

BOOST_AUTO_TEST_CASE(an_unknown_scheme_lists_those_that_are_known) {
  some store;
  auto const listed = store.list(*uri::parse("ftp://host/model"));
  BOOST_REQUIRE(!listed);
  BOOST_TEST((listed.error().kind() == error_kind::usage));
  for (auto part : {"ftp://", "a plain path, file://", "memory://", "deep://"})
    BOOST_TEST(has(listed.error().message(), part));
  std::vector<std::string> const names{"x"};
  BOOST_TEST((store.pin(*uri::parse("az://c"), names).error().kind() == error_kind::usage));
  BOOST_TEST((store.directory_of(*uri::parse("az://c")).error().kind() == error_kind::usage));
  BOOST_TEST(!some::takes(*uri::parse("az://c")));
}

BOOST_AUTO_TEST_CASE(a_store_that_takes_a_stop_token_gets_it) {
  storage::any_of<patient, memory> store;
  store.get<patient>().add("m/x", "1");
  store.get<memory>().add("m/x", "1");
  std::vector<std::string> const names{"x"};
  std::stop_source stop;
  stop.request_stop();
  for (bool asked : {false, true}) {
    auto const token = asked ? stop.get_token() : std::stop_token{};
    BOOST_TEST(list_objects(store, *uri::parse("patient://m"), token).has_value() == !asked);
    BOOST_TEST(pin_objects(store, *uri::parse("patient://m"), names, token).has_value() == !asked);
    BOOST_TEST(list_objects(store, *uri::parse("memory://m"), token).has_value());
    BOOST_TEST(pin_objects(store, *uri::parse("memory://m"), names, token).has_value());
  }
}

BOOST_AUTO_TEST_CASE(only_files_stand_in_a_folder) {
  some store;
  BOOST_TEST(store.directory_of(*uri::parse("/a/b/")).value().value() == "/a/b");
  BOOST_TEST(!store.directory_of(*uri::parse("memory://m")).value().has_value());
}

BOOST_AUTO_TEST_CASE(a_lane_reads_all_objects_of_one_pin) {
  some store;
  auto& deep = store.get<deep_store>();
  for (auto name : {"m/a", "m/b", "m/c"}) deep.memory.add(name, name);
  auto const objects = pin(store, *uri::parse("deep://m"), {"c", "a", "b"});
  std::vector<wanted_range> const ranges{
      {0, {bytes{2}, bytes{1}}}, {1, {bytes{2}, bytes{1}}}, {2, {bytes{2}, bytes{1}}}};
  std::string got(3, '?');
  auto const take = [&](std::size_t i, std::span<std::byte const> b) -> result<void> {
    got[i] = static_cast<char>(b[0]);
    return {};
  };
  BOOST_REQUIRE(read_ranges(store, objects, ranges, take).has_value());
  BOOST_TEST(got == "cab");
  BOOST_TEST(deep.seen->most_outstanding == 3u);
  auto lane = store.open_lane({objects.data() + 1, 1}, 0, 4).value();  // a part of them will do
  BOOST_TEST(lane->depth() == 4u);
}

BOOST_AUTO_TEST_CASE(objects_of_several_pins_make_no_lane) {
  some store;
  store.get<memory>().add("m/a", "1");
  auto objects = pin(store, *uri::parse("memory://m"), {"a"});
  objects.push_back(pin(store, *uri::parse("memory://m"), {"a"})[0]);
  auto const lane = store.open_lane(objects, 0, 1);
  BOOST_REQUIRE(!lane);
  BOOST_TEST((lane.error().kind() == error_kind::usage));
  BOOST_TEST(store.open_lane({}, 0, 1).has_value());
}

BOOST_AUTO_TEST_CASE(an_object_keeps_its_store_s_bytes_alive) {
  folder f;
  f.write("x", "1");
  f.write("y", "2");
  auto const before = fixture::open_files();
  {
    some store;
    auto objects = pin(store, f.uri(), {"x", "y"});
    objects.erase(objects.begin());
    BOOST_TEST(read_whole(store, objects[0]).value() == "2");
    BOOST_TEST(fixture::open_files() == before + 2);
  }
  BOOST_TEST(fixture::open_files() == before);
}
BOOST_AUTO_TEST_SUITE_END()
