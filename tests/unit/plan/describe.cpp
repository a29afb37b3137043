#include <penstock/plan/describe.hpp>

#include <boost/test/unit_test.hpp>

#include "made_of.hpp"

using namespace test;

BOOST_AUTO_TEST_SUITE(plan_describe)
BOOST_AUTO_TEST_CASE(a_plan_is_one_json_object_with_the_names_of_a_report) {
  auto const c = llama_checkpoint({});
  auto const p = make_plan(c.all, config_of({}), llama_map, topology{}).value();
  auto const json = to_json(p);
  for (auto name : {"bytes_needed", "bytes_read", "bytes_discarded", "bytes_exchanged", "requests", "tensors",
                    "parameters", "copies", "peak_host_bytes", "peak_retained_bytes", "plan_seconds", "input_hash"})
    BOOST_TEST(json.find("\"" + std::string{name} + "\":") != std::string::npos, name);
}
BOOST_AUTO_TEST_CASE(a_read_names_its_object_and_its_copies) {
  auto const c = llama_checkpoint({});
  auto const p = make_plan(c.all, config_of({}), llama_map, topology{}).value();
  auto const first = to_json(p, p.reads.front());
  BOOST_TEST(first.find("\"object\":\"model.safetensors\"") != std::string::npos);
  BOOST_TEST(first.find("\"parameter\":\"model.embed_tokens.weight\"") != std::string::npos);
  BOOST_TEST(to_json(p, p.reads.back()).find("\"object\":null") != std::string::npos);  // the padding of the vocabulary
}
BOOST_AUTO_TEST_CASE(names_are_escaped) {
  std::string s;
  penstock::detail::append_json_string(s, "a\"b\\c\n\x01");
  BOOST_TEST(s == "\"a\\\"b\\\\c\\u000a\\u0001\"");
}
BOOST_AUTO_TEST_SUITE_END()
