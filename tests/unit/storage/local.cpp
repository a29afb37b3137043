#include <penstock/storage/local.hpp>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <numeric>

#include "folder.hpp"

namespace {
namespace fs = std::filesystem;
using namespace penstock;
using fixture::folder, fixture::has;
using storage::local;

result<std::vector<local::object>> pin(local const& store, uri const& root, std::vector<std::string> const& names) {
  return store.pin(root, names);
}

/// Reads one range through a lane into places of the given sizes.
result<std::string> read(local const& store, std::vector<local::object> const& objects, byte_range range,
                         std::vector<std::size_t> const& places) {
  std::string content(static_cast<std::size_t>(range.size.count), '?');
  std::vector<scatter> to;
  std::size_t at = 0;
  for (auto n : places) {
    to.push_back({reinterpret_cast<std::byte*>(content.data()) + at, n});
    at += n;
  }
  auto lane = store.open_lane(objects, 0, 4).value();
  lane->submit({.from = &objects[0], .range = range, .to = to, .tag = 7});
  std::array<completion, 4> done;
  BOOST_REQUIRE(lane->wait(done, std::chrono::microseconds{1}) == 1u);
  BOOST_TEST(done[0].tag == 7u);
  if (done[0].failed) return std::move(*done[0].failed);
  return content;
}

std::string alphabet(std::size_t n) {
  std::string text(n, ' ');
  for (std::size_t i = 0; i < n; ++i) text[i] = static_cast<char>('!' + i % 90);
  return text;
}

/// A layer that gives 7 bytes a call at most, and is interrupted every third time.
ssize_t reluctant(int descriptor, iovec const* places, int count, off_t first) {
  static int calls = 0;
  if (++calls % 3 == 0) return errno = EINTR, -1;
  for (int i = 0; i < count; ++i)
    if (places[i].iov_len)
      return ::pread(descriptor, places[i].iov_base, std::min<std::size_t>(7, places[i].iov_len), first);
  return 0;
}
ssize_t broken_disk(int, iovec const*, int, off_t) { return errno = EIO, -1; }
iovec const* largest_list = nullptr;
std::size_t largest_call = 0;
ssize_t measuring(int, iovec const* places, int count, off_t) {
  std::size_t n = 0;
  for (int i = 0; i < count; ++i) n += places[i].iov_len;
  largest_call = std::max(largest_call, n);
  return static_cast<ssize_t>(n);
}
}  // namespace

BOOST_AUTO_TEST_SUITE(storage_local)

BOOST_AUTO_TEST_CASE(it_is_a_storage_with_its_own_traits) {
  static_assert(storage_backend<local>);
  BOOST_TEST((traits_of(local{}).gap == kibibytes(4)));
  BOOST_TEST(traits_of(local{}).lanes == 4u);
  BOOST_TEST(traits_of(local{}).depth == 1u);
}

BOOST_AUTO_TEST_CASE(it_takes_plain_paths_and_file_uris) {
  BOOST_TEST(local::takes(*uri::parse("/a/b")));
  BOOST_TEST(local::takes(*uri::parse("FILE:///a")));
  BOOST_TEST(!local::takes(*uri::parse("az://a/b")));
  BOOST_TEST(local::directory_of(*uri::parse("a%20b/")).value() == "a%20b");
  BOOST_TEST(local::directory_of(*uri::parse("/")).value() == "/");
  BOOST_TEST(local::directory_of(*uri::parse("file:///a%20b/%C3%BC//")).value() == "/a b/\xc3\xbc");
  BOOST_TEST(local::directory_of(*uri::parse("file://LOCALHOST/a")).value() == "/a");
  for (auto text : {"file://other/a", "file://", "file://localhost", "file:///a%2", "file:///a%zz", "file:///a%00b"}) {
    auto const path = local::directory_of(*uri::parse(text));
    BOOST_REQUIRE(!path);
    BOOST_TEST((path.error().kind() == error_kind::usage));
    BOOST_TEST(has(path.error().message(), text));
  }
}

BOOST_AUTO_TEST_CASE(a_range_comes_into_scattered_places) {
  folder f;
  f.write("x", alphabet(1000));
  local const store;
  auto const objects = pin(store, f.uri(), {"x"}).value();
  BOOST_TEST(objects[0].size().count == 1000u);
  auto const got = read(store, objects, {bytes{100}, bytes{500}}, {0, 1, 0, 400, 99, 0});
  BOOST_TEST(got.value() == alphabet(1000).substr(100, 500));
}

BOOST_AUTO_TEST_CASE(more_places_than_one_call_takes) {
  folder f;
  f.write("x", alphabet(5000));
  local const store;
  auto const objects = pin(store, f.uri(), {"x"}).value();
  BOOST_TEST(read(store, objects, {bytes{}, bytes{5000}}, std::vector<std::size_t>(5000, 1)).value() == alphabet(5000));
}

BOOST_AUTO_TEST_CASE(zero_bytes_may_be_asked_for) {
  folder f;
  f.write("empty", "");
  local const store;
  auto const objects = pin(store, f.uri(), {"empty"}).value();
  BOOST_TEST(read(store, objects, {bytes{}, bytes{}}, {}).value().empty());
  BOOST_TEST(read(store, objects, {bytes{}, bytes{}}, {0, 0}).value().empty());
}

BOOST_AUTO_TEST_CASE(short_and_interrupted_reads_go_on) {
  folder f;
  f.write("x", alphabet(96));
  local const store{reluctant};
  auto const objects = pin(store, f.uri(), {"x"}).value();
  BOOST_TEST(read(store, objects, {bytes{}, bytes{96}}, {96}).value() == alphabet(96));
  BOOST_TEST(read(store, objects, {bytes{5}, bytes{90}}, {10, 0, 3, 77}).value() == alphabet(96).substr(5, 90));
}

BOOST_AUTO_TEST_CASE(no_call_asks_for_more_than_the_system_gives) {
  folder f;
  auto const path = f.write("x", "");
  BOOST_REQUIRE(::truncate(path.c_str(), off_t{5} << 29) == 0);  // 2.5 GiB of holes
  local const store{measuring};
  auto const objects = pin(store, f.uri(), {"x"}).value();
  auto lane = store.open_lane(objects, 0, 1).value();
  auto const n = std::size_t{5} << 29;
  scatter const to{reinterpret_cast<std::byte*>(&largest_list), n};  // `measuring` writes nothing
  lane->submit({.from = &objects[0], .range = {bytes{}, bytes{n}}, .to = {&to, 1}, .tag = 0});
  std::array<completion, 1> done;
  BOOST_REQUIRE(lane->wait(done, {}) == 1u);
  BOOST_TEST(!done[0].failed);
  BOOST_TEST(largest_call > 0u);
  BOOST_TEST(largest_call <= 2'147'479'552u);
}

BOOST_AUTO_TEST_CASE(a_file_cut_short_after_the_pin_is_changed) {
  folder f;
  auto const path = f.write("x", alphabet(96));
  local const store;
  auto const objects = pin(store, f.uri(), {"x"}).value();
  BOOST_REQUIRE(::truncate(path.c_str(), 86) == 0);
  auto const got = read(store, objects, {bytes{}, bytes{96}}, {96});
  BOOST_REQUIRE(!got);
  BOOST_TEST((got.error().kind() == error_kind::changed));
  BOOST_TEST(has(got.error().message(), path));
}

BOOST_AUTO_TEST_CASE(an_early_end_names_offset_wanted_and_got) {
  folder f;
  auto const path = f.write("x", alphabet(96));
  local const store{[](int descriptor, iovec const* places, int, off_t first) -> ssize_t {
    auto const end = off_t{86};  // the layer says that the file ends ten bytes early
    return first >= end ? 0
                        : ::pread(descriptor, places->iov_base,
                                  std::min(places->iov_len, static_cast<std::size_t>(end - first)), first);
  }};
  auto const objects = pin(store, f.uri(), {"x"}).value();
  auto const got = read(store, objects, {bytes{16}, bytes{80}}, {80});
  BOOST_REQUIRE(!got);
  BOOST_TEST((got.error().kind() == error_kind::format));
  for (auto part : {path.c_str(), "byte 86", "80 bytes", "byte 16", "got 70"})
    BOOST_TEST(has(got.error().message(), part));
  BOOST_TEST(!has(got.error().message(), std::strerror(0)));
  BOOST_TEST((got.error().where().range == byte_range{bytes{16}, bytes{80}}));
}

BOOST_AUTO_TEST_CASE(a_range_outside_the_file_is_refused_without_a_read) {
  folder f;
  f.write("x", alphabet(96));
  local const store{broken_disk};
  auto const objects = pin(store, f.uri(), {"x"}).value();
  for (byte_range r :
       {byte_range{bytes{90}, bytes{7}}, byte_range{bytes{~u64{}}, bytes{2}}, byte_range{bytes{97}, bytes{0}}}) {
    auto const got = read(store, objects, r, {static_cast<std::size_t>(r.size.count)});
    BOOST_REQUIRE(!got);
    BOOST_TEST((got.error().kind() == error_kind::format));
    BOOST_TEST(has(got.error().message(), "96 bytes"));
  }
  auto const places = read(store, objects, {bytes{}, bytes{7}}, {3, 3});
  BOOST_REQUIRE(!places);
  BOOST_TEST((places.error().kind() == error_kind::usage));
}

BOOST_AUTO_TEST_CASE(what_the_system_says_is_an_io_error_with_its_words) {
  folder f;
  auto const path = f.write("x", alphabet(96));
  local const store{broken_disk};
  auto const objects = pin(store, f.uri(), {"x"}).value();
  auto const got = read(store, objects, {bytes{}, bytes{96}}, {96});
  BOOST_REQUIRE(!got);
  BOOST_TEST((got.error().kind() == error_kind::io));
  BOOST_TEST(has(got.error().message(), std::strerror(EIO)));
  BOOST_TEST(has(got.error().message(), path));
}

BOOST_AUTO_TEST_CASE(a_file_written_in_place_is_changed) {
  folder f;
  auto const path = f.write("x", alphabet(96));
  local const store;
  auto const objects = pin(store, f.uri(), {"x"}).value();
  auto const before = objects[0].version();
  fs::last_write_time(path, fs::last_write_time(path) + std::chrono::seconds{1});
  auto const got = read(store, objects, {bytes{}, bytes{96}}, {96});
  BOOST_REQUIRE(!got);
  BOOST_TEST((got.error().kind() == error_kind::changed));
  BOOST_TEST(pin(store, f.uri(), {"x"}).value()[0].version() != before);
}

BOOST_AUTO_TEST_CASE(a_file_that_is_replaced_or_removed_keeps_its_bytes) {
  folder f;
  auto const path = f.write("x", "old!");
  local const store;
  auto const objects = pin(store, f.uri(), {"x"}).value();
  fs::rename(f.write("y", "new!"), path);
  BOOST_TEST(read(store, objects, {bytes{}, bytes{4}}, {4}).value() == "old!");
  auto const now = pin(store, f.uri(), {"x"}).value();
  BOOST_TEST(now[0].version() != objects[0].version());
  fs::remove(path);
  BOOST_TEST(read(store, now, {bytes{}, bytes{4}}, {4}).value() == "new!");
}

BOOST_AUTO_TEST_CASE(all_missing_files_are_named_at_once) {
  folder f;
  f.write("b", "x");
  auto const got = pin(local{}, f.uri(), {"a", "b", "c/d"});
  BOOST_REQUIRE(!got);
  BOOST_TEST((got.error().kind() == error_kind::not_found));
  BOOST_TEST(has(got.error().message(), f.text() + ": a, c/d;"));
  auto const nowhere = pin(local{}, f.uri("gone"), {"a"});
  BOOST_TEST((nowhere.error().kind() == error_kind::not_found));
}

BOOST_AUTO_TEST_CASE(a_name_goes_by_the_link_and_its_bytes_by_the_target) {
  folder f;
  f.write("blobs/4d7c0a", "bytes");
  fs::create_directories(f / "snapshots/r1");
  fs::create_symlink("../../blobs/4d7c0a", f / "snapshots/r1/model.safetensors");
  fs::create_directory_symlink("snapshots/r1", f / "latest");
  local const store;
  auto const objects = pin(store, f.uri("latest"), {"model.safetensors"}).value();
  BOOST_TEST(objects[0].shown() == f / "latest/model.safetensors");
  BOOST_TEST(read(store, objects, {bytes{}, bytes{5}}, {5}).value() == "bytes");
  auto const listed = store.list(f.uri("latest")).value();
  BOOST_REQUIRE(listed.size() == 1u);
  BOOST_TEST(listed[0].name == "model.safetensors");
  BOOST_TEST(listed[0].size.count == 5u);
}

BOOST_AUTO_TEST_CASE(only_files_are_pinned) {
  folder f;
  fs::create_directory(f / "folder");
  BOOST_REQUIRE(::mkfifo((f / "fifo").c_str(), 0600) == 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, (f / "socket").c_str(), sizeof address.sun_path - 1);
  int const s = ::socket(AF_UNIX, SOCK_STREAM, 0);
  BOOST_REQUIRE(::bind(s, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  ::close(s);
  fs::create_symlink("/dev/zero", f / "device");
  auto const before = fixture::open_files();
  for (auto name : {"folder", "fifo", "socket", "device"}) {
    auto const got = pin(local{}, f.uri(), {name});
    BOOST_REQUIRE(!got);
    BOOST_TEST((got.error().kind() == error_kind::format));
    BOOST_TEST(has(got.error().message(), f / name));
  }
  BOOST_TEST(fixture::open_files() == before);
}

BOOST_AUTO_TEST_CASE(a_name_stays_below_the_root) {
  folder f;
  f.write("secret", "x");
  f.write("root/a", "x");
  for (auto name : {"../secret", "/etc/hostname", "a/../../secret", "a/../a", "./a", "", "a//b", "s3://b/x", "a\\b"}) {
    auto const got = pin(local{}, f.uri("root"), {name});
    BOOST_REQUIRE(!got);
    BOOST_TEST((got.error().kind() == error_kind::config));
  }
  auto const nul = pin(local{}, f.uri("root"), {std::string{"a\0b", 3}});
  BOOST_TEST((nul.error().kind() == error_kind::config));
  BOOST_TEST(has(nul.error().message(), "a\\x00b"));
  BOOST_TEST(pin(local{}, f.uri("root"), {"a"}).has_value());
}

BOOST_AUTO_TEST_CASE(a_listing_has_every_file_below_the_root) {
  folder f;
  f.write("m/b", "22");
  f.write("m/.hidden", "1");
  f.write("m/sub/deep/c", "333");
  f.write("m_two/x", "1");
  fs::create_directory(f / "m/empty");
  fs::create_symlink("gone", f / "m/dangling");
  fs::create_symlink("loop", f / "m/loop");
  fs::create_directory_symlink("..", f / "m/sub/up");
  fs::create_directory_symlink(".", f / "m/self");
  fs::create_directory_symlink("../m_two", f / "m/elsewhere");
  auto const before = fixture::open_files();
  std::string text;
  for (auto const& o : local{}.list(f.uri("m")).value()) text += o.name + "=" + std::to_string(o.size.count) + " ";
  BOOST_TEST(text == ".hidden=1 b=2 dangling=0 loop=0 sub/deep/c=3 ");
  BOOST_TEST(local{}.list(f.uri("m/")).value().size() == 5u);
  BOOST_TEST(fixture::open_files() == before);
}

BOOST_AUTO_TEST_CASE(a_root_must_be_a_folder) {
  folder f;
  f.write("file", "x");
  auto const file = local{}.list(f.uri("file"));
  BOOST_TEST((file.error().kind() == error_kind::usage));
  BOOST_TEST(has(file.error().message(), f / "file"));
  BOOST_TEST((local{}.list(f.uri("gone")).error().kind() == error_kind::not_found));
  BOOST_TEST((local{}.list(f.uri("file/below")).error().kind() == error_kind::not_found));
}

BOOST_AUTO_TEST_CASE(a_cancelled_lane_writes_nothing_and_reads_again) {
  folder f;
  f.write("x", "abcd");
  local const store;
  auto const objects = pin(store, f.uri(), {"x"}).value();
  auto lane = store.open_lane(objects, 0, 1).value();
  std::array<char, 4> place{'?', '?', '?', '?'};
  scatter const to{reinterpret_cast<std::byte*>(place.data()), 4};
  std::array<completion, 1> done;
  lane->submit({.from = &objects[0], .range = {bytes{}, bytes{4}}, .to = {&to, 1}, .tag = 0});
  lane->cancel();
  lane->wake();
  BOOST_TEST(lane->wait(done, std::chrono::seconds{10}) == 0u);
  BOOST_TEST(place[0] == '?');
  BOOST_TEST((lane->transport_bytes() == bytes{}));
}

BOOST_AUTO_TEST_CASE(objects_close_their_files_and_may_be_moved) {
  folder f;
  f.write("x", "abcd");
  f.write("y", "efgh");
  auto const before = fixture::open_files();
  {
    local const store;
    auto objects = pin(store, f.uri(), {"x", "y"}).value();
    std::swap(objects[0], objects[1]);
    BOOST_TEST(read(store, objects, {bytes{}, bytes{4}}, {4}).value() == "efgh");
    auto const moved = std::move(objects);
    BOOST_TEST(fixture::open_files() == before + 2);
  }
  BOOST_TEST(fixture::open_files() == before);
}
BOOST_AUTO_TEST_SUITE_END()
