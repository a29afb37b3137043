#include <penstock/format/weight_files.hpp>

#include "st.hpp"

using namespace penstock;
using namespace fixture;

namespace {
using texts = std::vector<std::string>;
result<texts> of(texts const& listing) { return weight_files(listing); }
}  // namespace

BOOST_AUTO_TEST_SUITE(format_weight_files)

// Case H08.
BOOST_AUTO_TEST_CASE(with_an_index_only_the_files_it_names_are_weights) {
  auto const index =
      shard_index::parse(bytes_of(R"({"weight_map":{"model.embed_tokens.weight":"model-00001-of-00002.safetensors",)"
                                  R"("lm_head.weight":"model-00002-of-00002.safetensors"}})"),
                         "i");
  texts const listing{"consolidated.safetensors", "model-00002-of-00002.safetensors",
                      "model-00001-of-00002.safetensors"};
  auto const files = weight_files(listing, &*index);
  BOOST_TEST_REQUIRE(files.has_value());
  BOOST_TEST(*files == (texts{"model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"}),
             boost::test_tools::per_element());
}

// Case H09.
BOOST_AUTO_TEST_CASE(all_files_that_the_index_names_and_that_are_missing_are_named) {
  auto const index = shard_index::parse(
      bytes_of(R"({"weight_map":{"a":"model-00001-of-00003.safetensors","b":"model-00002-of-00003.safetensors",)"
               R"("c":"model-00003-of-00003.safetensors"}})"),
      "i");
  texts const listing{"model-00001-of-00003.safetensors"};
  BOOST_TEST(fails(weight_files(listing, &*index), error_kind::not_found,
                   {"2 missing", "model-00002-of-00003.safetensors", "model-00003-of-00003.safetensors"}));
}

// Case H08, the twins.
BOOST_AUTO_TEST_CASE(without_an_index_the_whole_model_goes_before_its_other_form) {
  BOOST_TEST(*of({"consolidated.safetensors", "model.safetensors", "config.json"}) == texts{"model.safetensors"},
             boost::test_tools::per_element());
  BOOST_TEST(*of({"consolidated.safetensors"}) == texts{"consolidated.safetensors"}, boost::test_tools::per_element());
  BOOST_TEST(*of({"b10.safetensors", "consolidated.00.safetensors", "b9.safetensors", "sub/x.safetensors", "x.bin"}) ==
                 (texts{"b9.safetensors", "b10.safetensors"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(no_file_of_weights_is_an_error) {
  BOOST_TEST(fails(of({"config.json", "sub/model.safetensors"}), error_kind::not_found,
                   {"*.safetensors", "2 files", "there are some in \"sub\""}));
  BOOST_TEST(fails(of({"config.json", "a.gguf"}), error_kind::not_found, {"only safetensors are read", "\"a.gguf\""}));
  BOOST_TEST(fails(of({}), error_kind::not_found, {"0 files"}));
}

BOOST_AUTO_TEST_CASE(of_files_that_count_themselves_none_may_be_missing) {
  BOOST_TEST(of({"m-00001-of-00002.safetensors", "m-00002-of-00002.safetensors"}).has_value());
  BOOST_TEST(of({"m-00000-of-00002.safetensors", "m-00001-of-00002.safetensors"}).has_value());
  BOOST_TEST(fails(of({"m-00001-of-00003.safetensors"}), error_kind::not_found,
                   {"2 missing", "m-00002-of-00003.safetensors", "m-00003-of-00003.safetensors"}));
  BOOST_TEST(fails(of({"m-2-of-2.safetensors"}), error_kind::not_found, {"m-1-of-2.safetensors"}));
  BOOST_TEST(fails(of({"m-1-of-90.safetensors"}), error_kind::not_found, {"89 missing", "and 69 more"}));
}

BOOST_AUTO_TEST_CASE(a_name_that_counts_to_a_million_costs_no_more_than_its_message) {
  auto const r = of({std::string(4000, 'm') + "-1-of-1000000.safetensors"});
  BOOST_TEST(fails(r, error_kind::not_found, {"999999 missing", "and 999979 more"}));
  BOOST_TEST(r.error().message().size() < 100'000u);
}

BOOST_AUTO_TEST_CASE(two_sets_of_counted_files_are_ambiguous) {
  BOOST_TEST(bad_config(of({"m-1-of-1.safetensors", "n-1-of-1.safetensors"}), {"m-1-of-1", "n-1-of-1"}));
  BOOST_TEST(bad_config(of({"m-1-of-1.safetensors", "m-1-of-2.safetensors", "m-2-of-2.safetensors"}), {"m-1-of-1"}));
  for (std::string const odd : {"-of-.safetensors", "m-1-of-x.safetensors", "m--1-of-2.safetensors",
                                "-of-1.safetensors", "1-of-2.safetensors", "m-99999999999-of-1.safetensors"})
    BOOST_TEST(of({odd}).has_value() == !odd.starts_with("m--1"), odd);
}
BOOST_AUTO_TEST_SUITE_END()
