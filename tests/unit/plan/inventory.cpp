#include <penstock/arch/mixtral.hpp>
#include <penstock/arch/qwen3.hpp>
#include <penstock/arch/qwen3_moe.hpp>
#include <penstock/plan/inventory.hpp>

#include <boost/test/unit_test.hpp>

#include "deepseek.hpp"

using namespace test;

namespace {
constexpr auto llama_fp8 = weight_map_of<arch::llama, quant::any_of<quant::fp8_block>>::view();

template <class Arch>
constexpr auto map_of = weight_map_of<Arch>::view();

std::pair<u64, u64> totals(map_view const& map, std::string const& config, std::string_view quant = {}) {
  auto const all = inventory_of(map, parsed(config), quant).value();
  u64 bytes = 0;
  for (auto const& t : all) bytes += t.size.count;
  return {all.size(), bytes};
}
}  // namespace

BOOST_AUTO_TEST_SUITE(plan_inventory)

// The totals of public checkpoints, which agree with their files.
BOOST_AUTO_TEST_CASE(deepseek_v3_has_688_gigabytes_in_91991_tensors) {
  BOOST_TEST((totals(deepseek_map, deepseek_v3_config()) == std::pair<u64, u64>{91'991, 688'574'839'360}));
}
BOOST_AUTO_TEST_CASE(llama_8b_has_16_gigabytes_in_291_tensors) {
  std::string const config =
      R"({"hidden_size":4096,"num_hidden_layers":32,"num_attention_heads":32,"num_key_value_heads":8,
          "intermediate_size":14336,"vocab_size":128256})";
  BOOST_TEST((totals(llama_fp8, config) == std::pair<u64, u64>{291, 16'060'522'496}));
}
BOOST_AUTO_TEST_CASE(other_public_models) {
  auto const of = [](map_view const& map, std::string const& sizes) { return totals(map, "{" + sizes + "}"); };
  using pair = std::pair<u64, u64>;
  BOOST_TEST((of(llama_fp8, R"("hidden_size":8192,"num_hidden_layers":80,"num_attention_heads":64,
    "num_key_value_heads":8,"intermediate_size":28672,"vocab_size":128256)") == pair{723, 141'107'412'992}));
  BOOST_TEST((of(map_of<arch::qwen3>, R"("hidden_size":1024,"num_hidden_layers":28,"num_attention_heads":16,
    "num_key_value_heads":8,"head_dim":128,"intermediate_size":3072,"vocab_size":151936,"tie_word_embeddings":true)") ==
              pair{310, 1'192'099'840}));
  BOOST_TEST((of(map_of<arch::qwen3>, R"("hidden_size":4096,"num_hidden_layers":36,"num_attention_heads":32,
    "num_key_value_heads":8,"head_dim":128,"intermediate_size":12288,"vocab_size":151936)") ==
              pair{399, 16'381'470'720}));
  BOOST_TEST((of(map_of<arch::qwen3_moe>, R"("hidden_size":2048,"num_hidden_layers":48,"num_attention_heads":32,
    "num_key_value_heads":4,"head_dim":128,"num_experts":128,"moe_intermediate_size":768,"intermediate_size":6144,"vocab_size":151936)") ==
              pair{18'867, 61'064'245'248}));
  BOOST_TEST((of(map_of<arch::qwen3_moe>, R"("hidden_size":4096,"num_hidden_layers":94,"num_attention_heads":64,
    "num_key_value_heads":4,"head_dim":128,"num_experts":128,"moe_intermediate_size":1536,"intermediate_size":12288,"vocab_size":151936)") ==
              pair{36'945, 470'187'269'120}));
  BOOST_TEST((of(map_of<arch::mixtral>, R"("hidden_size":4096,"num_hidden_layers":32,"num_attention_heads":32,
    "num_key_value_heads":8,"num_local_experts":8,"intermediate_size":14336,"vocab_size":32000)") ==
              pair{995, 93'405'585'408}));
}
BOOST_AUTO_TEST_CASE(a_quantised_linear_has_the_scheme_s_parts_and_an_ignored_one_has_not) {
  auto const of = [](std::string const& name, std::string const& config) -> std::string {
    for (auto const& t : inventory_of(llama_fp8, parsed(config)).value())
      if (t.name == name) return std::string{name_of(t.type)} + " " + to_string(t.shape);
    return "none";
  };
  std::string const sizes =
      R"({"hidden_size":256,"num_hidden_layers":2,"num_attention_heads":2,"intermediate_size":384,"vocab_size":10)";
  std::string const fp8 = R"(,"quantization_config":{"quant_method":"fp8","weight_block_size":[128,128],)"
                          R"("modules_to_not_convert":["model.layers.1.mlp.down_proj"]}})";
  BOOST_TEST(of("model.layers.0.mlp.down_proj.weight", sizes + fp8) == "F8_E4M3 [256, 384]");
  BOOST_TEST(of("model.layers.0.mlp.down_proj.weight_scale_inv", sizes + fp8) == "F32 [2, 3]");
  BOOST_TEST(of("model.layers.1.mlp.down_proj.weight", sizes + fp8) == "BF16 [256, 384]");
  BOOST_TEST(of("model.layers.1.mlp.down_proj.weight_scale_inv", sizes + fp8) == "none");
  BOOST_TEST(of("model.norm.weight", sizes + fp8) == "BF16 [256]");
  BOOST_TEST(of("model.layers.0.mlp.down_proj.weight", sizes + "}") == "BF16 [256, 384]");
}
BOOST_AUTO_TEST_CASE(a_scheme_that_needs_numbers_which_the_config_lacks_is_a_config_error) {
  auto const all = inventory_of(llama_fp8,
                                parsed(R"({"hidden_size":256,"num_hidden_layers":1,"num_attention_heads":2,)"
                                       R"("intermediate_size":384,"vocab_size":10})"),
                                "fp8_block");
  BOOST_TEST_REQUIRE(!all);
  BOOST_TEST((all.error().kind() == error_kind::config));
  BOOST_TEST(all.error().message().find("weight_block_size.0") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
