#include <penstock/plan/choose_map.hpp>

#include <penstock/arch/as_stored.hpp>
#include <penstock/arch/bert.hpp>
#include <penstock/arch/llama.hpp>
#include <penstock/arch/qwen2.hpp>

#include <boost/test/unit_test.hpp>
#include <string>

using namespace penstock;

namespace {
model_config config_for(std::string const& architecture) {
  auto const text = R"({"architectures":[")" + architecture + R"("]})";
  return model_config::parse(std::as_bytes(std::span{text})).value();
}
constexpr auto maps = maps_of<arch::any_of<arch::llama, arch::as_stored>, quant::none>();
}  // namespace

BOOST_AUTO_TEST_SUITE(plan_choose_map)
BOOST_AUTO_TEST_CASE(the_architecture_of_config_json_chooses_the_map) {
  BOOST_TEST(choose_map(maps, config_for("LlamaForCausalLM")).value().arch_name() == "llama");
}
BOOST_AUTO_TEST_CASE(a_name_chooses_whatever_config_json_says) {
  BOOST_TEST(choose_map(maps, config_for("Other"), "as_stored").value().arch_name() == "as_stored");
  BOOST_TEST(choose_map(maps, model_config{}, "llama").value().arch_name() == "llama");
}
BOOST_AUTO_TEST_CASE(an_unknown_architecture_is_a_config_error_that_lists_the_known) {
  auto const r = choose_map(maps, config_for("MambaForCausalLM"));
  BOOST_TEST_REQUIRE(!r);
  BOOST_TEST((r.error().kind() == error_kind::config));
  BOOST_TEST(r.error().message().find("MambaForCausalLM") != std::string::npos);
  BOOST_TEST(r.error().message().find("llama, as_stored") != std::string::npos);
}
BOOST_AUTO_TEST_CASE(the_known_are_listed_by_class_in_order) {
  constexpr auto all = maps_of<arch::any_of<arch::qwen2, arch::llama, arch::bert>, quant::none>();
  auto const message = choose_map(all, config_for("MambaForCausalLM")).error().message();
  BOOST_TEST(message.find("(BertForMaskedLM, BertModel, LlamaForCausalLM, Qwen2ForCausalLM)") != std::string::npos);
}
BOOST_AUTO_TEST_CASE(an_unknown_name_is_a_usage_error_that_lists_the_known) {
  auto const r = choose_map(maps, model_config{}, "lama");
  BOOST_TEST_REQUIRE(!r);
  BOOST_TEST((r.error().kind() == error_kind::usage));
  BOOST_TEST(r.error().message().find("llama, as_stored") != std::string::npos);
}
BOOST_AUTO_TEST_CASE(without_config_json_the_architecture_must_be_named) {
  BOOST_TEST((choose_map(maps, model_config{}).error().kind() == error_kind::config));
}
BOOST_AUTO_TEST_CASE(a_single_map_without_classes_needs_no_name) {
  BOOST_TEST(choose_map(maps_of<arch::as_stored, quant::none>(), model_config{}).value().arch_name() == "as_stored");
}
BOOST_AUTO_TEST_SUITE_END()
