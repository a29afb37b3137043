#include <penstock/storage/azure_blob.hpp>

#include <boost/test/unit_test.hpp>
#include <thread>

using namespace penstock;
using namespace penstock::storage;
using namespace std::chrono_literals;

static_assert(storage_backend<azure_blob>);

namespace {
uri at(std::string_view text) { return uri::parse(text).value(); }
/// Nothing listens at port 1 of this machine.
net::http_object nowhere(u64 size) {
  return {"http://127.0.0.1:1/acct/c/o", "az://c/o", bytes{size}, "\"v\"", nullptr};
}
azure_options hasty() {
  azure_options o;
  o.environment = false;
  o.account.anonymous = true;
  o.account.account = "acct";
  o.account.endpoint = "http://127.0.0.1:1/acct";
  o.http.retry.base = o.http.retry.cap = 1ms;
  o.http.retry.attempts = 3;
  return o;
}
read_request<net::http_object> request(net::http_object const& o, byte_range range, std::span<scatter const> to,
                                       u32 tag = 7) {
  read_request<net::http_object> r;
  r.from = &o;
  r.range = range;
  r.to = to;
  r.tag = tag;
  return r;
}
std::unique_ptr<azure_blob::lane> open(net::http_object const& o, azure_options options = hasty()) {
  azure_blob store(std::move(options));
  return store.open_lane(std::span(&o, 1), 0, 2).value();
}
}  // namespace

BOOST_AUTO_TEST_SUITE(storage_azure_blob)

BOOST_AUTO_TEST_CASE(its_traits_are_those_of_an_object_store) {
  auto const t = traits_of(azure_blob{hasty()});
  BOOST_TEST((t.gap == mebibytes(1)));
  BOOST_TEST(t.lanes == 1U);
  BOOST_TEST(t.depth == 8U);
  BOOST_TEST((t.transport_per_read == kibibytes(528)));
  auto const o = nowhere(10);
  BOOST_TEST((open(o)->transport_bytes() == kibibytes(2 * 528)));
  BOOST_TEST(open(o)->depth() == 2U);
}

BOOST_AUTO_TEST_CASE(a_wrong_place_is_an_error_before_anything_is_sent) {
  azure_blob store(hasty());
  std::string const names[] = {"a"};
  auto const pinned = store.pin(at("s3://b/k"), names);
  BOOST_TEST_REQUIRE(!pinned);
  BOOST_TEST((pinned.error().kind() == error_kind::usage));
  BOOST_TEST((store.list(at("az://")).error().kind() == error_kind::usage));
  BOOST_TEST(store.pin(at("az://c/m"), {}).value().empty());
}

BOOST_AUTO_TEST_CASE(a_store_that_does_not_listen_is_transient) {
  azure_blob store(hasty());
  std::string const names[] = {"a", "b"};
  auto const pinned = store.pin(at("az://c/m"), names);
  BOOST_TEST_REQUIRE(!pinned);
  BOOST_TEST((pinned.error().kind() == error_kind::transient));
  BOOST_TEST(pinned.error().where().attempts == 3U);
  BOOST_TEST(pinned.error().where().uri == "az://c/m/a");
  BOOST_TEST((store.list(at("az://c/m")).error().kind() == error_kind::transient));
}

BOOST_AUTO_TEST_CASE(zero_bytes_complete_without_a_request) {
  auto const o = nowhere(10);
  auto const lane = open(o);
  lane->submit(request(o, {bytes{10}, bytes{0}}, {}));
  completion out[4];
  BOOST_TEST_REQUIRE(lane->wait(out, 1s) == 1U);
  BOOST_TEST(out[0].tag == 7U);
  BOOST_TEST(!out[0].failed);
}

BOOST_AUTO_TEST_CASE(a_range_behind_the_end_is_a_format_error_with_both_sizes) {
  auto const o = nowhere(12);
  auto const lane = open(o);
  std::byte to[16];
  scatter const places[] = {{to, 16}};
  lane->submit(request(o, {bytes{0}, bytes{16}}, places));
  lane->submit(request(o, {bytes{13}, bytes{0}}, {}));
  lane->submit(request(o, {bytes{4}, bytes{~u64{}}}, places));
  completion out[4];
  BOOST_TEST_REQUIRE(lane->wait(out, 1s) == 3U);
  for (auto const& c : std::span(out, 3)) BOOST_TEST((c.failed && c.failed->kind() == error_kind::format));
  auto const& text = out[2].failed->message();
  BOOST_TEST((text.find("16") != text.npos && text.find("12") != text.npos && text.find("az://c/o") != text.npos));
}

BOOST_AUTO_TEST_CASE(places_that_do_not_add_up_and_reads_beyond_the_depth_are_refused) {
  auto const o = nowhere(100);
  auto const lane = open(o);
  std::byte to[16];
  scatter const places[] = {{to, 8}, {to + 8, 7}}, good[] = {{to, 16}};
  lane->submit(request(o, {bytes{0}, bytes{16}}, places, 1));
  completion out[4];
  BOOST_TEST_REQUIRE(lane->wait(out, 1s) == 1U);
  BOOST_TEST((out[0].failed && out[0].failed->kind() == error_kind::usage));
  for (u32 tag : {2U, 3U, 4U}) lane->submit(request(o, {bytes{0}, bytes{16}}, good, tag));
  BOOST_TEST_REQUIRE(lane->wait(out, 1s) == 1U);
  BOOST_TEST(out[0].tag == 4U);
  BOOST_TEST((out[0].failed && out[0].failed->kind() == error_kind::usage));
}

BOOST_AUTO_TEST_CASE(attempts_are_used_up_and_the_error_says_where) {
  auto const o = nowhere(100);
  auto const lane = open(o);
  std::byte to[16];
  scatter const places[] = {{to, 16}};
  lane->submit(request(o, {bytes{20}, bytes{16}}, places));
  completion out[4];
  std::size_t n = 0;
  while (!n) n = lane->wait(out, 1s);
  BOOST_TEST_REQUIRE(!!out[0].failed);
  auto const& e = *out[0].failed;
  BOOST_TEST((e.kind() == error_kind::transient));
  BOOST_TEST((e.where().range == byte_range{bytes{20}, bytes{16}}));
  BOOST_TEST(e.where().attempts == 3U);
  BOOST_TEST(e.message().find("3 attempts") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_wake_up_is_kept_for_the_next_wait) {
  auto const o = nowhere(100);
  auto options = hasty();
  options.http.retry.base = options.http.retry.cap = 1h;
  options.http.retry.time = 24h;
  auto const lane = open(o, options);
  std::byte to[16];
  scatter const places[] = {{to, 16}};
  lane->submit(request(o, {bytes{0}, bytes{16}}, places));
  completion out[4];
  auto const begin = std::chrono::steady_clock::now();
  lane->wake();
  BOOST_TEST(lane->wait(out, 1h) == 0U);
  std::thread other([&] {
    std::this_thread::sleep_for(20ms);
    lane->wake();
  });
  BOOST_TEST(lane->wait(out, 1h) == 0U);
  other.join();
  BOOST_TEST(lane->wait(out, 5ms) == 0U);
  lane->cancel();
  BOOST_TEST((std::chrono::steady_clock::now() - begin < 30s));
  BOOST_TEST(lane->wait(out, 1ms) == 0U);
  lane->submit(request(o, {bytes{0}, bytes{0}}, {}));  // it goes on after a cancel
  BOOST_TEST(lane->wait(out, 1s) == 1U);
}

BOOST_AUTO_TEST_SUITE_END()
