#include <penstock/model/open.hpp>

#include <sys/stat.h>

#include <algorithm>

#include "../storage/deep_store.hpp"
#include "../storage/folder.hpp"
#include "small_model.hpp"

#include <penstock/storage/local.hpp>

namespace {
using namespace penstock;
using fixture::deep_store, fixture::folder, fixture::has, fixture::st, fixture::vector_file;
using storage::local;
namespace fs = std::filesystem;

/// A remote store, its cache and what was said while a model was opened.
struct remote {
  folder f;
  deep_store store;
  std::vector<std::string> notices;

  void add(std::string const& name, std::string_view content) { store.memory.add("m/" + name, content); }
  result<model<deep_store>> open(std::string_view text = "memory://m", open_options how = {}) {
    how.cache = f / "cache";
    how.watch.on_notice = [this](std::string_view said) { notices.emplace_back(said); };
    return open_model(store, *uri::parse(text), how);
  }
  bool pinned(std::string_view name) const {
    return std::find(store.seen->pinned.begin(), store.seen->pinned.end(), name) != store.seen->pinned.end();
  }
};

result<model<local>> open_local(uri const& where, open_options const& how = {}) {
  local store;
  return open_model(store, where, how);
}
template <class M>
std::string shards_of(M const& m) {
  std::string text;
  for (auto const& s : m.weights.shards) text += (text.empty() ? "" : " ") + s.name;
  return text;
}
template <class M>
std::string tensors_of(M const& m) {
  std::string text;
  for (auto const& t : m.weights.tensors) text += (text.empty() ? "" : " ") + t.name;
  return text;
}
template <class R>
void expect_error(R const& r, error_kind kind, std::initializer_list<std::string> parts) {
  BOOST_REQUIRE(!r);
  BOOST_TEST(name_of(r.error().kind()) == name_of(kind), r.error().message());
  for (auto const& part : parts)
    BOOST_TEST(has(r.error().message(), part), part + " is not in: " + r.error().message());
}
}  // namespace

BOOST_AUTO_TEST_SUITE(model_open)

BOOST_AUTO_TEST_CASE(with_an_index_the_files_it_names_are_the_weights) {
  remote r;
  r.add("model.safetensors.index.json", fixture::index_of_two);
  r.add("model-00001-of-00002.safetensors", vector_file("model.embed_tokens.weight"));
  r.add("model-00002-of-00002.safetensors", vector_file("lm_head.weight"));
  r.add("consolidated.safetensors", vector_file("tok_embeddings.weight"));
  r.add("config.json", R"({"model_type":"llama"})");
  auto const m = r.open().value();
  BOOST_TEST(shards_of(m) == "model-00001-of-00002.safetensors model-00002-of-00002.safetensors");
  BOOST_TEST(tensors_of(m) == "model.embed_tokens.weight lm_head.weight");
  BOOST_TEST(!r.pinned("consolidated.safetensors"));
  BOOST_TEST(m.objects->size() == 2u);
  BOOST_TEST((m.weights.shards[1].size == (*m.objects)[1].size()));
  BOOST_TEST(m.weights.shards[1].version == (*m.objects)[1].version());
  BOOST_TEST(m.weights.uri == "memory://m");
  BOOST_TEST(m.config.model_type() == "llama");
  BOOST_TEST(m.snapshot.files().value() == (std::vector<std::string>{"config.json", "model.safetensors.index.json"}),
             boost::test_tools::per_element());
  BOOST_TEST(r.store.seen->alive == 0u);
  BOOST_TEST(r.notices == (std::vector<std::string>{"not read: consolidated.safetensors is no part of this model"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(the_same_files_in_a_folder_are_their_own_snapshot) {
  folder f;
  f.write("model.safetensors.index.json", fixture::index_of_two);
  f.write("model-00001-of-00002.safetensors", vector_file("model.embed_tokens.weight"));
  f.write("model-00002-of-00002.safetensors", vector_file("lm_head.weight"));
  f.write("consolidated.safetensors", "no safetensors at all");
  for (auto const& where : {f.uri(), *uri::parse("file://" + f.text() + "/")}) {
    auto const m = open_local(where).value();
    BOOST_TEST(tensors_of(m) == "model.embed_tokens.weight lm_head.weight");
    BOOST_TEST(m.snapshot.directory() == f.text());
    BOOST_TEST(m.config.empty());
  }
}

BOOST_AUTO_TEST_CASE(without_an_index_model_safetensors_is_alone) {
  remote r;
  r.add("model.safetensors", vector_file("a"));
  r.add("consolidated.safetensors", vector_file("tok"));
  r.add("extra.safetensors", vector_file("b"));
  BOOST_TEST(shards_of(r.open().value()) == "model.safetensors");
  BOOST_TEST(!r.pinned("consolidated.safetensors"));
}

BOOST_AUTO_TEST_CASE(without_both_all_of_the_root_folder_but_consolidated_ones) {
  remote r;
  r.add("consolidated.safetensors", vector_file("tok"));
  BOOST_TEST(shards_of(r.open().value()) == "consolidated.safetensors");
  r.add("part10.safetensors", vector_file("b"));
  r.add("part2.safetensors", vector_file("a"));
  r.add("sub/part1.safetensors", vector_file("c"));
  auto const m = r.open().value();
  BOOST_TEST(shards_of(m) == "part2.safetensors part10.safetensors");
  BOOST_TEST(tensors_of(m) == "a b");
  r.add("part3.safetensors", vector_file("a"));
  expect_error(r.open(), error_kind::format, {"\"a\"", "part2.safetensors", "part3.safetensors"});
}

BOOST_AUTO_TEST_CASE(an_index_of_another_name_counts_when_it_is_the_only_one) {
  remote r;
  r.add("my.safetensors.index.json", R"({"weight_map":{"a":"x.safetensors"}})");
  r.add("x.safetensors", vector_file("a"));
  r.add("y.safetensors", vector_file("b"));
  BOOST_TEST(shards_of(r.open().value()) == "x.safetensors");
  r.add("your.safetensors.index.json", R"({"weight_map":{"b":"y.safetensors"}})");
  expect_error(r.open(), error_kind::config,
               {"my.safetensors.index.json", "your.safetensors.index.json", "memory://m"});
}

BOOST_AUTO_TEST_CASE(every_shard_that_is_missing_is_named) {
  auto const index =
      R"({"weight_map":{"a":"model-00001-of-00003.safetensors","b":"model-00002-of-00003.safetensors","c":"model-00003-of-00003.safetensors"}})";
  remote r;
  r.add("model.safetensors.index.json", index);
  r.add("model-00001-of-00003.safetensors", vector_file("a"));
  expect_error(r.open(), error_kind::not_found,
               {"memory://m", "model-00002-of-00003.safetensors", "model-00003-of-00003.safetensors"});
  folder f;
  f.write("model.safetensors.index.json", index);
  f.write("model-00001-of-00003.safetensors", vector_file("a"));
  fs::create_symlink("gone", f / "model-00003-of-00003.safetensors");  // a cache that was cleared
  expect_error(open_local(f.uri()), error_kind::not_found, {f.text(), "model-00002-of-00003.safetensors"});
  fs::create_symlink("gone", f / "model-00002-of-00003.safetensors");
  expect_error(open_local(f.uri()), error_kind::not_found,
               {f.text(), "model-00002-of-00003.safetensors", "model-00003-of-00003.safetensors"});
}

BOOST_AUTO_TEST_CASE(the_index_owns_each_tensor_and_stale_ones_are_ignored_and_counted) {
  auto const stale = st(R"({"l0.norm.weight":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]},)"
                        R"("l0.q.weight":{"dtype":"F8_E4M3","shape":[4],"data_offsets":[4,8]}})",
                        "nnnnqqqq");
  for (auto [fresh, old] : {std::pair{"new.safetensors", "old.safetensors"}, {"b.safetensors", "a.safetensors"}}) {
    remote r;
    r.add("model.safetensors.index.json",
          std::string{R"({"weight_map":{"l0.q.weight":")"} + fresh + R"(","l0.norm.weight":")" + old + R"("}})");
    r.add(old, stale);
    r.add(fresh, vector_file("l0.q.weight", 4));
    auto const m = r.open().value();
    BOOST_TEST(m.weights.ignored == 1u);
    BOOST_REQUIRE(m.weights.tensors.size() == 2u);
    for (auto const& t : m.weights.tensors) {
      BOOST_TEST((t.type == dtype::bf16));
      BOOST_TEST(m.weights.shards[index_of(t.shard)].name == (t.name == "l0.q.weight" ? fresh : old));
    }
    BOOST_REQUIRE(r.notices.size() == 1u);
    BOOST_TEST(r.notices[0].starts_with("1 tensor ignored"));
  }
}

BOOST_AUTO_TEST_CASE(an_index_names_files_below_its_folder_and_nothing_else) {
  remote r;
  r.add("transformer/model-00001-of-00002.safetensors", vector_file("a"));
  r.add("model.safetensors.index.json", R"({"weight_map":{"a":"transformer/model-00001-of-00002.safetensors"}})");
  BOOST_TEST(shards_of(r.open().value()) == "transformer/model-00001-of-00002.safetensors");
  folder f;
  f.write("transformer/model-00001-of-00002.safetensors", vector_file("a"));
  f.write("model.safetensors.index.json", R"({"weight_map":{"a":"transformer/model-00001-of-00002.safetensors"}})");
  BOOST_TEST(shards_of(open_local(f.uri()).value()) == "transformer/model-00001-of-00002.safetensors");
  for (auto [value, shown] : {std::pair{"../other/model.safetensors", "../other/model.safetensors"},
                              {"/abs/x.safetensors", "/abs/x.safetensors"},
                              {"a/../../b.safetensors", "a/../../b.safetensors"},
                              {"a/../model.safetensors", "a/../model.safetensors"},
                              {"s3://other-bucket/x.safetensors", "s3://other-bucket/x.safetensors"},
                              {"x\\u0000.safetensors", "x\\u0000.safetensors"}}) {
    r.add("model.safetensors.index.json", std::string{R"({"weight_map":{"a":")"} + value + "\"}}");
    r.store.seen->pinned.clear();
    expect_error(r.open(), error_kind::config, {shown});
    BOOST_TEST(r.store.seen->pinned.size() == 1u);  // the index itself
  }
}

BOOST_AUTO_TEST_CASE(only_what_is_below_the_root_belongs_to_it) {
  remote r;
  r.store.memory.add("m/run_dedup/config.json", "{}");
  r.store.memory.add("m/run_dedup/model.safetensors", vector_file("a"));
  r.store.memory.add("m/run_dedup_version_2/model.safetensors", vector_file("b"));
  r.store.memory.add("m/run_dedup.safetensors", vector_file("c"));
  for (auto text : {"memory://m/run_dedup", "memory://m/run_dedup/"}) {
    auto const m = r.open(text).value();
    BOOST_TEST(tensors_of(m) == "a");
    BOOST_TEST(m.snapshot.files().value().size() == 1u);
  }
  expect_error(r.open("memory://m/run_dedu"), error_kind::not_found, {"memory://m/run_dedu"});
}

BOOST_AUTO_TEST_CASE(no_weights_says_what_was_looked_for_and_what_is_there) {
  remote r;
  for (int i = 0; i < 12; ++i) r.add("file" + std::to_string(10 + i), "");
  expect_error(r.open(), error_kind::not_found, {"memory://m", "*.safetensors", "file10, file11", "file19 and 2 more"});
  folder f;
  expect_error(open_local(f.uri()), error_kind::not_found, {f.text(), "there is nothing"});
  expect_error(open_local(f.uri("gone")), error_kind::not_found, {f / "gone"});
}

BOOST_AUTO_TEST_CASE(a_uri_of_one_file_is_that_file) {
  remote r;
  r.add("a.safetensors", vector_file("a"));
  r.add("b.safetensors", vector_file("b"));
  r.add("model.safetensors.index.json", "broken");
  r.add("config.json", R"({"model_type":"llama"})");
  auto const m = r.open("memory://m/b.safetensors").value();
  BOOST_TEST(shards_of(m) == "b.safetensors");
  BOOST_TEST(m.weights.uri == "memory://m/b.safetensors");
  BOOST_TEST(m.config.model_type() == "llama");
  expect_error(r.open("memory://m/c.safetensors"), error_kind::not_found, {"c.safetensors"});
  r.store.list_error = std::make_shared<error>(error_kind::access, "403");
  BOOST_TEST(r.open("memory://m/b.safetensors").value().config.empty());
  BOOST_REQUIRE(r.notices.size() == 1u);
  BOOST_TEST(has(r.notices[0], "memory://m may not be listed"));
  expect_error(r.open("memory://m"), error_kind::access, {"403"});
}

BOOST_AUTO_TEST_CASE(a_link_of_a_content_addressed_cache_is_read_by_its_target) {
  folder f;
  f.write("blobs/4d7c0a", vector_file("a"));
  f.write("snapshots/r1/config.json", R"({"model_type":"llama"})");
  fs::create_symlink("../../blobs/4d7c0a", f / "snapshots/r1/model.safetensors");
  fs::create_directory_symlink("snapshots/r1", f / "main");
  for (auto below : {"main", "snapshots/r1", "snapshots/r1/model.safetensors", "main/model.safetensors"}) {
    auto const m = open_local(f.uri(below)).value();
    BOOST_TEST(tensors_of(m) == "a");
    BOOST_TEST(m.config.model_type() == "llama");
  }
  f.write("blobs/4d7c0a", st("{}", "trailing"));
  expect_error(open_local(f.uri("main")), error_kind::format, {f / "main/model.safetensors"});
}

BOOST_AUTO_TEST_CASE(a_folder_called_like_a_file_and_a_file_called_like_none) {
  folder f;
  f.write("m.safetensors/model.safetensors", vector_file("a"));
  BOOST_TEST(tensors_of(open_local(f.uri("m.safetensors")).value()) == "a");
  f.write("weights", vector_file("a"));
  expect_error(open_local(f.uri("weights")), error_kind::usage, {f / "weights"});
}

BOOST_AUTO_TEST_CASE(of_files_only_the_headers_are_read) {
  static u64 total;
  total = 0;
  local store{[](int descriptor, iovec const* places, int count, off_t first) {
    auto const n = ::preadv(descriptor, places, count, first);
    return total += static_cast<u64>(n), n;
  }};
  folder f;
  auto const file = vector_file("a", 500'000);
  f.write("model.safetensors", file);
  f.write("config.json", "{}");
  auto const m = open_model(store, f.uri()).value();
  BOOST_TEST(tensors_of(m) == "a");
  BOOST_TEST(total == file.size() - 1'000'000);
}

BOOST_AUTO_TEST_CASE(a_header_longer_than_the_guess_takes_a_second_request) {
  remote r;
  std::string header = "{";
  for (int i = 0; i < 2000; ++i)
    header += (i ? ",\"t" : "\"t") + std::to_string(i) + R"(":{"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
  header += "}";
  BOOST_REQUIRE(header.size() > 65536u);
  for (int i = 0; i < 9; ++i)
    r.add("small" + std::to_string(i) + ".safetensors", vector_file("s" + std::to_string(i), 100'000));
  r.add("large.safetensors", st(header, ""));
  auto const m = r.open().value();
  BOOST_TEST(m.weights.tensors.size() == 2009u);
  BOOST_TEST(m.weights.tensors[0].name == "t0");
  BOOST_TEST(r.store.seen->requests == 11u);
  BOOST_TEST(r.store.seen->bytes == 10u * 65536 + header.size());
  BOOST_TEST(r.store.seen->most_outstanding == 8u);
}

BOOST_AUTO_TEST_CASE(a_header_above_the_limit_is_refused_before_it_is_read) {
  remote r;
  std::string lie{"\x40\x9d\xdf\x07\0\0\0\0", 8};
  lie.resize(200'000, ' ');
  r.add("model.safetensors", lie);
  expect_error(r.open(), error_kind::format, {"132095296", "100000000", "memory://m/model.safetensors"});
  BOOST_TEST(r.store.seen->requests == 1u);
  std::string huge(200'000, '\xff');
  huge[7] = 0x7f;
  r.add("model.safetensors", huge);
  expect_error(r.open(), error_kind::format, {"9223372036854775807"});

  auto const header = R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})" + std::string(1200 - 53, ' ');
  r.add("model.safetensors", st(header, ""));
  open_options how;
  how.headers.header = bytes{1000};
  expect_error(r.open("memory://m", how), error_kind::format, {"1000", std::to_string(header.size())});
  how.headers.header = bytes{2000};
  BOOST_TEST(tensors_of(r.open("memory://m", how).value()) == "a");
}

BOOST_AUTO_TEST_CASE(a_file_too_short_for_its_header_is_an_error_of_that_file) {
  remote r;
  for (std::string_view content :
       {std::string_view{}, std::string_view{"1234567"}, std::string_view{"\2\0\0\0\0\0\0\0", 8}}) {
    r.add("model.safetensors", content);
    expect_error(r.open(), error_kind::format, {"memory://m/model.safetensors"});
  }
}

BOOST_AUTO_TEST_CASE(a_snapshot_has_all_files_but_weights_and_what_is_too_large) {
  remote r;
  r.add("model.safetensors", vector_file("a"));
  auto const large = std::string(3'000'001, 'x');
  for (auto name : {"config.json", "tokenizer.model", "chat_template.jinja", "a/b/processing.py", "empty.txt"})
    r.add(name, name);
  r.add("tokenizer.json", large);
  r.add("pytorch_model.bin", "weights");
  r.add("onnx/model.onnx", "weights");
  r.store.more_listed = {{"sub/", bytes{}}, {"movie.mp4", bytes{100'000'000}}};
  r.add("config.json", "{}");
  auto const m = r.open().value();
  BOOST_TEST(
      m.snapshot.files().value() == (std::vector<std::string>{"a/b/processing.py", "chat_template.jinja", "config.json",
                                                              "empty.txt", "tokenizer.json", "tokenizer.model"}),
      boost::test_tools::per_element());
  BOOST_TEST((m.snapshot.read("tokenizer.json").value() == large));
  BOOST_TEST(m.snapshot.read("a/b/processing.py").value() == "a/b/processing.py");
  BOOST_TEST(!r.pinned("pytorch_model.bin"));
  BOOST_REQUIRE(r.notices.size() == 1u);
  BOOST_TEST(has(r.notices[0], "movie.mp4"));
  BOOST_TEST(m.snapshot.directory().string().starts_with(r.f / "cache/snapshots/"));
}

BOOST_AUTO_TEST_CASE(a_snapshot_is_fetched_once_and_again_when_the_store_has_changed) {
  remote r;
  r.add("model.safetensors", vector_file("a"));
  r.add("config.json", R"({"model_type":"one"})");
  auto const first = r.open().value();
  auto const requests = r.store.seen->requests;
  auto const second = r.open("memory://m/").value();
  BOOST_TEST(second.snapshot.directory() == first.snapshot.directory());
  BOOST_TEST(r.store.seen->requests == requests + 1);  // the header
  r.add("config.json", R"({"model_type":"two"})");
  auto const third = r.open().value();
  BOOST_TEST(third.snapshot.directory() != first.snapshot.directory());
  BOOST_TEST(third.config.model_type() == "two");
  auto const before = read_config(first.snapshot).value();
  BOOST_TEST(before.model_type() == "one");
}

BOOST_AUTO_TEST_CASE(a_name_in_a_listing_never_leaves_the_snapshot) {
  for (auto name : {"../evil.json", "a/../../evil.json", "/evil.json", "a//evil.json", "./evil.json", "a\\evil.json",
                    "..", "a/.."}) {
    remote r;
    r.add("model.safetensors", vector_file("a"));
    r.store.more_listed = {{name, bytes{1}}};
    expect_error(r.open(), error_kind::config, {name, "remove or rename it"});
    BOOST_TEST(!r.pinned(name));  // nobody asked the store for it
    BOOST_TEST(!fs::exists(r.f / "cache"));
  }
  remote r;
  r.add("model.safetensors", vector_file("a"));
  r.store.more_listed = {{std::string(256, 'x'), bytes{1}}};
  expect_error(r.open(), error_kind::config, {"255 bytes"});
  r.store.more_listed = {{std::string{"a\0b", 3}, bytes{1}}};
  expect_error(r.open(), error_kind::config, {"a\\x00b"});
}

BOOST_AUTO_TEST_CASE(an_object_that_changes_while_the_model_is_opened_leaves_nothing) {
  remote r;
  r.add("model.safetensors", vector_file("a"));
  r.add("config.json", "{}");
  int reads = 0;
  r.store.before_read = [&] {
    if (++reads == 2) r.add("config.json", "{ }");
  };
  expect_error(r.open(), error_kind::changed, {"config.json"});
  std::size_t left = 0;
  for (auto const& entry : fs::directory_iterator{r.f / "cache/snapshots"}) left += entry.path().extension() != ".lock";
  BOOST_TEST(left == 0u);
  BOOST_TEST(r.store.seen->alive == 0u);
  r.store.before_read = nullptr;
  BOOST_TEST(r.open().has_value());
}

BOOST_AUTO_TEST_CASE(an_unwritable_cache_is_an_io_error) {
  remote r;
  r.add("model.safetensors", vector_file("a"));
  r.add("config.json", "{}");
  r.f.write("file", "");
  auto const got = open_model(r.store, *uri::parse("memory://m"), {.cache = r.f / "file/cache"});
  expect_error(got, error_kind::io, {r.f / "file", "PENSTOCK_CACHE"});
}

BOOST_AUTO_TEST_CASE(a_broken_config_or_index_ends_the_opening) {
  remote r;
  r.add("model.safetensors", vector_file("a"));
  r.add("config.json", "{");
  expect_error(r.open(), error_kind::config, {"config.json"});
  r.add("model.safetensors.index.json", "[]");
  expect_error(r.open(), error_kind::config, {"memory://m/model.safetensors.index.json"});
  r.add("model.safetensors.index.json", R"({"weight_map":{"b":"model.safetensors"}})");
  expect_error(r.open(), error_kind::format, {"\"b\"", "model.safetensors"});
}

BOOST_AUTO_TEST_CASE(opening_can_be_stopped_and_leaves_no_file_open) {
  remote r;
  r.add("model.safetensors", vector_file("a"));
  std::stop_source stop;
  stop.request_stop();
  open_options how;
  how.stop = stop.get_token();
  expect_error(r.open("memory://m", how), error_kind::cancelled, {});
  folder f;
  f.write("model.safetensors", vector_file("a"));
  auto const before = fixture::open_files();
  expect_error(open_local(f.uri(), how), error_kind::cancelled, {});
  {
    auto const m = open_local(f.uri()).value();
    BOOST_TEST(fixture::open_files() == before + 1);
  }
  BOOST_TEST(fixture::open_files() == before);
}

BOOST_AUTO_TEST_CASE(a_store_that_is_chosen_by_the_uri_opens_both_kinds) {
  folder f;
  f.write("model.safetensors", vector_file("a"));
  storage::any_of<local, storage::memory> store;
  store.get<storage::memory>().add("m/model.safetensors", vector_file("b"));
  store.get<storage::memory>().add("m/config.json", R"({"model_type":"llama"})");
  open_options how;
  how.cache = f / "cache";
  auto const here = open_model(store, f.uri(), how).value();
  auto const there = open_model(store, *uri::parse("memory://m"), how).value();
  BOOST_TEST(tensors_of(here) == "a");
  BOOST_TEST(here.snapshot.directory() == f.text());
  BOOST_TEST(tensors_of(there) == "b");
  BOOST_TEST(there.config.model_type() == "llama");
  expect_error(open_model(store, *uri::parse("ftp://x"), how), error_kind::usage, {"memory://"});
}
BOOST_AUTO_TEST_SUITE_END()
