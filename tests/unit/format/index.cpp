#include <penstock/format/index.hpp>

#include "st.hpp"

#include <memory>

using namespace penstock;
using namespace fixture;

namespace {
result<shard_index> parse(std::string_view json) { return shard_index::parse(bytes_of(json), "m.index.json"); }
result<shard_index> naming(std::string const& path) { return parse(R"({"weight_map":{"w":")" + path + "\"}}"); }

/// A shard's header with tensors of one byte each.
shard_header header_of(u32 shard, std::initializer_list<std::string_view> names) {
  shard_header h;
  for (auto const name : names)
    h.tensors.push_back(
        {std::string{name}, dtype::uint8, shape{1}, object_id{shard}, {bytes{h.tensors.size()}, bytes{1}}});
  return h;
}
checkpoint with_files(std::initializer_list<std::string_view> names) {
  checkpoint c;
  for (auto const name : names) c.shards.push_back({std::string{name}, bytes{100}, "v"});
  return c;
}
std::vector<std::string> names_of(checkpoint const& c) {
  std::vector<std::string> names;
  for (auto const& t : c.tensors) names.push_back(t.name + "@" + std::to_string(index_of(t.shard)));
  return names;
}
using texts = std::vector<std::string>;
}  // namespace

BOOST_AUTO_TEST_SUITE(format_index)

BOOST_AUTO_TEST_CASE(it_says_which_file_owns_a_tensor) {
  auto const i = parse(R"({"metadata":{"total_size":"no number"},"weight_map":{
    "c":"model-00010-of-00010.safetensors","a":"model-00002-of-00010.safetensors","b":"model-00010-of-00010.safetensors"}})");
  BOOST_TEST_REQUIRE(i.has_value());
  BOOST_TEST(i->tensors() == 3u);
  BOOST_TEST(i->files() == (texts{"model-00002-of-00010.safetensors", "model-00010-of-00010.safetensors"}),
             boost::test_tools::per_element());
  BOOST_TEST(i->file(*i->find("a")) == 0u);
  BOOST_TEST(i->file(*i->find("b")) == 1u);
  BOOST_TEST(i->tensor(*i->find("c")) == "c");
  BOOST_TEST(!i->find("d"));
  BOOST_TEST(!shard_index{}.find("a"));
}

BOOST_AUTO_TEST_CASE(metadata_may_be_absent_empty_or_stale) {
  for (std::string const head :
       {"{", R"({"metadata":{},)", R"({"metadata":null,)", R"({"metadata":{"total_size":0},"x":[1],)"})
    BOOST_TEST(parse(head + R"("weight_map":{"w":"a.safetensors"}})").has_value());
}

// Case H11.
BOOST_AUTO_TEST_CASE(a_file_in_a_subfolder_is_fine) {
  for (std::string const path :
       {"transformer/model-00001-of-00002.safetensors", "a/b/c.safetensors", "a..b/..c.safetensors",
        "%2e%2e/x.safetensors", "a b+\xc3\xbc#?.safetensors", "a/b:c.safetensors"}) {
    auto const i = naming(path);
    BOOST_TEST_REQUIRE(i.has_value(), path);
    BOOST_TEST(i->files()[0] == path);
  }
}

// Case H11.
BOOST_AUTO_TEST_CASE(a_file_outside_of_the_folder_is_refused_by_name) {
  for (std::string const path :
       {"../other/model.safetensors", "/abs/x.safetensors", "a/../../b.safetensors", "a/../model.safetensors", "..",
        "./model.safetensors", "a//b.safetensors", "a/", "s3://other-bucket/x.safetensors", "file:x.safetensors"})
    BOOST_TEST(
        bad_config(naming(path), {"m.index.json", "below the checkpoint's folder", "\"w\"", "\"" + path + "\""}));
  BOOST_TEST(bad_config(naming(R"(x\u0000.safetensors)"), {R"("x\u0000.safetensors")", "control character"}));
  BOOST_TEST(bad_config(naming(R"(..\\x.safetensors)"), {R"("..\\x.safetensors")", "backslash"}));
  BOOST_TEST(bad_config(naming(R"(C:\\x.safetensors)"), {"\"C:"}));
  BOOST_TEST(bad_config(naming(""), {"\"\"", "empty"}));
  BOOST_TEST(bad_config(naming(std::string(256, 'x')), {"255 bytes"}));
}

BOOST_AUTO_TEST_CASE(a_refused_file_is_found_behind_good_ones) {
  auto const i = parse(R"({"weight_map":{"a":"x.safetensors","b":"x.safetensors","c":"../x.safetensors"}})");
  BOOST_TEST(bad_config(i, {"\"c\"", "\"../x.safetensors\""}));
}

BOOST_AUTO_TEST_CASE(duplicates_and_wrong_types_are_refused) {
  BOOST_TEST(bad_config(parse(R"({"weight_map":{"a":"x","b":"x","a":"y"}})"), {"\"a\"", "duplicate"}));
  BOOST_TEST(bad_config(parse(R"({"weight_map":{"a":"x"},"weight_map":{"a":"x"}})"), {"weight_map", "duplicate"}));
  BOOST_TEST(bad_config(parse(R"({"metadata":{}})"), {"weight_map", "none"}));
  BOOST_TEST(bad_config(parse(R"({"weight_map":{}})"), {"weight_map", "none"}));
  BOOST_TEST(bad_config(parse(R"({"weight_map":["a"]})"), {"weight_map", "an array"}));
  BOOST_TEST(bad_config(parse(R"({"weight_map":{"a":1}})"), {"\"a\"", "an integer"}));
  BOOST_TEST(bad_config(parse(R"({"weight_map":{"a\u0000":"x"}})"), {"NUL"}));
  BOOST_TEST(bad_config(parse("[]"), {"m.index.json", "JSON object"}));
  BOOST_TEST(bad_config(parse(R"({"weight_map":{"a":"x"})"), {"m.index.json"}));
}

BOOST_AUTO_TEST_CASE(an_index_above_the_limit_is_not_parsed) {
  std::unique_ptr<std::byte[]> const large{new std::byte[shard_index::most.count + 1]};  // never touched
  auto const i = shard_index::parse({large.get(), shard_index::most.count + 1}, "m.index.json");
  BOOST_TEST(bad_config(i, {"268435456", "268435457"}));
}

BOOST_AUTO_TEST_CASE(two_hundred_thousand_names_are_found_again) {
  std::string json = R"({"weight_map":{)";
  constexpr u32 count = 200'000;
  for (u32 k = 0; k < count; ++k)
    json += (k ? ",\"" : "\"") + std::to_string(k) + ".weight\":\"model-" + std::to_string(k % 254) + ".safetensors\"";
  auto const i = parse(json + "}}");
  BOOST_TEST_REQUIRE(i.has_value());
  BOOST_TEST(i->files().size() == 254u);
  bool good = true;
  for (u32 k = 0; k < count; ++k) {
    auto const entry = i->find(std::to_string(k) + ".weight");
    good = good && entry && i->files()[i->file(*entry)] == "model-" + std::to_string(k % 254) + ".safetensors";
  }
  BOOST_TEST(good);
  auto const copy = *i;
  BOOST_TEST((copy.find("199999.weight") == i->find("199999.weight")));
}

// Case H10.
BOOST_AUTO_TEST_CASE(a_stale_tensor_in_a_shard_is_ignored_and_counted) {
  auto const i = parse(R"({"weight_map":{"l0.q.weight":"new.safetensors","l0.norm.weight":"old.safetensors"}})");
  auto c = with_files({"new.safetensors", "old.safetensors"});
  BOOST_TEST_REQUIRE(
      collect_tensors(c, {header_of(0, {"l0.q.weight"}), header_of(1, {"l0.norm.weight", "l0.q.weight"})}, &*i)
          .has_value());
  BOOST_TEST(names_of(c) == (texts{"l0.q.weight@0", "l0.norm.weight@1"}), boost::test_tools::per_element());
  BOOST_TEST(c.ignored == 1u);

  c = with_files({"old.safetensors", "new.safetensors"});
  BOOST_TEST_REQUIRE(
      collect_tensors(c, {header_of(0, {"l0.norm.weight", "l0.q.weight", "more"}), header_of(1, {"l0.q.weight"})}, &*i)
          .has_value());
  BOOST_TEST(names_of(c) == (texts{"l0.norm.weight@0", "l0.q.weight@1"}), boost::test_tools::per_element());
  BOOST_TEST(c.ignored == 2u);
}

BOOST_AUTO_TEST_CASE(a_tensor_that_the_index_promises_must_be_in_its_file) {
  auto const i = parse(R"({"weight_map":{"a":"x.safetensors","b":"y.safetensors","c":"y.safetensors"}})");
  auto c = with_files({"x.safetensors", "y.safetensors"});
  auto const one = collect_tensors(c, {header_of(0, {"a", "b"}), header_of(1, {"c"})}, &*i);
  BOOST_TEST(bad_format(one, {"\"b\"", "y.safetensors", "no such tensor"}));
  BOOST_TEST(one.error().where().tensor == "\"b\"");
  BOOST_TEST(bad_format(collect_tensors(c, {header_of(0, {"a"}), header_of(1, {})}, &*i), {"\"b\"", "and 1 more"}));
}

BOOST_AUTO_TEST_CASE(without_an_index_a_tensor_in_two_files_is_an_error_that_names_both) {
  auto c = with_files({"x.safetensors", "y.safetensors"});
  BOOST_TEST_REQUIRE(collect_tensors(c, {header_of(0, {"a"}), header_of(1, {"b"})}).has_value());
  BOOST_TEST(names_of(c) == (texts{"a@0", "b@1"}), boost::test_tools::per_element());
  BOOST_TEST(c.ignored == 0u);
  auto const r = collect_tensors(c, {header_of(0, {"a", "b"}), header_of(1, {"c", "b"})});
  BOOST_TEST(bad_format(r, {"\"b\"", "x.safetensors", "y.safetensors"}));
}
BOOST_AUTO_TEST_SUITE_END()
