#include <penstock/format/quantization.hpp>

#include <penstock/format/config.hpp>

#include "st.hpp"

using namespace penstock;
using namespace fixture;

namespace {
result<model_config> parse(std::string_view json) { return model_config::parse(bytes_of(json)); }
/// What a config declares; an empty method: nothing.
quant_declaration declared(std::string_view json) {
  auto const c = parse(json);
  BOOST_TEST_REQUIRE(c.has_value(), (c ? "" : c.error().message()));
  return c->quantization() ? *c->quantization() : quant_declaration{};
}
quant_declaration block(std::string const& json) { return declared(R"({"quantization_config":)" + json + "}"); }
result<model_config> bad_block(std::string const& json) { return parse(R"({"quantization_config":)" + json + "}"); }

std::string const packed =
    R"({"quant_method":"compressed-tensors","format":"pack-quantized","config_groups":{"group_0":{"targets":["Linear"],)"
    R"("weights":{"num_bits":4,"type":"int","strategy":"group","group_size":32,"symmetric":true}}},"ignore":["lm_head"]})";
using texts = std::vector<std::string>;
}  // namespace

BOOST_AUTO_TEST_SUITE(format_quantization)

// Case H22.
BOOST_AUTO_TEST_CASE(a_block_inside_of_the_text_config_is_found_and_keeps_its_scope) {
  auto const d = declared(
      R"({"architectures":["XForConditionalGeneration"],"vision_config":{},"text_config":{"quantization_config":)" +
      packed + "}}");
  BOOST_TEST(d.method == "compressed-tensors");
  BOOST_TEST(d.format == "pack-quantized");
  BOOST_TEST((d.bits == 4u));
  BOOST_TEST((d.group_size == 32u));
  BOOST_TEST((d.ignored == texts{"lm_head"}));
  BOOST_TEST(d.scope == "text_config");
  BOOST_TEST(d.where == "text_config.quantization_config");
}

// Case H22.
BOOST_AUTO_TEST_CASE(a_block_at_the_top_is_about_the_whole_model) {
  auto const d = declared(R"({"vision_config":{},"text_config":{},"quantization_config":)" + packed + "}");
  BOOST_TEST(d.scope == "");
  BOOST_TEST(d.where == "quantization_config");
  BOOST_TEST((d.bits == 4u));
}

// Case H22.
BOOST_AUTO_TEST_CASE(two_blocks_must_say_the_same_and_the_top_one_counts) {
  auto const both = [](std::string const& nested) {
    return parse(R"({"text_config":{"quantization_config":)" + nested + R"(},"quantization_config":)" + packed + "}");
  };
  auto const same = both(packed);
  BOOST_TEST_REQUIRE(same.has_value());
  BOOST_TEST(same->quantization()->scope == "");
  auto other_names = packed;
  other_names.replace(other_names.find("lm_head"), 7, "head");
  auto const names = both(other_names);
  BOOST_TEST_REQUIRE(names.has_value());
  BOOST_TEST((names->quantization()->ignored == texts{"lm_head"}));
  auto other_bits = packed;
  other_bits.replace(other_bits.find(":4"), 2, ":8");
  BOOST_TEST(bad_config(both(other_bits), {"quantization_config", "text_config.quantization_config", "4 bits"}));
  BOOST_TEST(bad_config(both(R"({"quant_method":"fp8"})"), {"expected one quantisation"}));
  BOOST_TEST(both("null").has_value());
  BOOST_TEST(bad_config(parse(R"({"compression_config":{"quant_method":"fp8"},"quantization_config":)" + packed + "}"),
                        {"compression_config"}));
}

BOOST_AUTO_TEST_CASE(fp8_blocks_are_read) {
  auto const d = block(R"({"activation_scheme":"dynamic","fmt":"e4m3","quant_method":"fp8","weight_block_size":[128,64],
                           "modules_to_not_convert":["gate","lm_head"]})");
  BOOST_TEST(d.method == "fp8");
  BOOST_TEST(d.format == "e4m3");
  BOOST_TEST((d.weight_block_size == std::vector<u64>{128, 64}));
  BOOST_TEST((d.ignored == texts{"gate", "lm_head"}));
  BOOST_TEST(!d.bits);
  BOOST_TEST(to_string(d) == "fp8 (e4m3, blocks of 128 x 64), declared in quantization_config");
}

BOOST_AUTO_TEST_CASE(gptq_and_awq_are_read) {
  auto const gptq = block(R"({"quant_method":"gptq","bits":4,"group_size":128,"desc_act":true})");
  BOOST_TEST((gptq.bits == 4u));
  BOOST_TEST((gptq.group_size == 128u));
  BOOST_TEST(to_string(gptq) == "gptq (4 bits, groups of 128), declared in quantization_config");
  BOOST_TEST(!block(R"({"quant_method":"gptq","bits":4,"group_size":-1})").group_size);
  auto const awq = block(R"({"quant_method":"awq","w_bit":4,"q_group_size":64,"modules_to_not_convert":null})");
  BOOST_TEST((awq.bits == 4u));
  BOOST_TEST((awq.group_size == 64u));
  BOOST_TEST(awq.ignored.empty());
}

BOOST_AUTO_TEST_CASE(all_lists_of_ignored_modules_count) {
  auto const d = block(R"({"quant_method":"x","ignore":["a"],"modules_to_not_convert":["re:b.*"],"ignored_layers":["c"],
                           "exclude_modules":["d"]})");
  BOOST_TEST((d.ignored == texts{"a", "re:b.*", "c", "d"}));
}

BOOST_AUTO_TEST_CASE(groups_that_differ_have_no_common_number) {
  auto const with = [](std::string const& second) {
    return block(R"({"config_groups":{"a":{"weights":{"num_bits":4,"group_size":32}},"b":{"weights":)" + second +
                 "}}}");
  };
  auto const same = with(R"({"num_bits":4,"group_size":32})");
  BOOST_TEST(same.method == "compressed-tensors");
  BOOST_TEST((same.bits == 4u));
  auto const other = with(R"({"num_bits":8,"group_size":32})");
  BOOST_TEST(!other.bits);
  BOOST_TEST((other.group_size == 32u));
  BOOST_TEST((with("null").bits == 4u));
}

BOOST_AUTO_TEST_CASE(the_algorithm_of_modelopt_gives_the_method) {
  auto const method = [](std::string const& json) { return block(json).method; };
  BOOST_TEST(method(R"({"quant_method":"modelopt","quant_algo":"FP8"})") == "modelopt_fp8");
  BOOST_TEST(method(R"({"quant_algo":"NVFP4"})") == "modelopt_fp4");
  BOOST_TEST(method(R"({"quant_algo":"MIXED_PRECISION","quantized_layers":{"a":{"quant_algo":"FP8"}}})") == "w4afp8");
  BOOST_TEST(
      method(
          R"({"quant_algo":"MIXED_PRECISION","quantized_layers":{"a":{"quant_algo":"FP8"},"b":{"quant_algo":"NVFP4"}}})") ==
      "modelopt_mixed");
  BOOST_TEST(block(R"({"quant_algo":"NVFP4"})").format == "NVFP4");
}

BOOST_AUTO_TEST_CASE(a_file_of_modelopt_counts_where_the_config_declares_nothing) {
  constexpr std::string_view file =
      R"({"producer":{"name":"modelopt"},"quantization":{"quant_algo":"NVFP4","group_size":16,"exclude_modules":["lm_head"]}})";
  auto c = *parse(R"({"hidden_size":2})");
  auto const before = c.fingerprint();
  BOOST_TEST_REQUIRE(c.add_quantization(bytes_of(file)).has_value());
  BOOST_TEST_REQUIRE(c.quantization());
  BOOST_TEST(c.quantization()->method == "modelopt_fp4");
  BOOST_TEST((c.quantization()->group_size == 16u));
  BOOST_TEST((c.quantization()->ignored == texts{"lm_head"}));
  BOOST_TEST(c.quantization()->where == "hf_quant_config.json:quantization");
  BOOST_TEST(c.fingerprint() != before);

  auto own = *parse(R"({"quantization_config":{"quant_method":"fp8"}})");
  BOOST_TEST(own.add_quantization(bytes_of(R"({"quantization":{"quant_algo":"FP8"}})")).has_value());
  BOOST_TEST(own.quantization()->method == "fp8");
  BOOST_TEST(bad_config(own.add_quantization(bytes_of(file)), {"fp8", "NVFP4", "hf_quant_config.json", "remove"}));
  auto groups = *parse(R"({"quantization_config":{"quant_algo":"NVFP4","group_size":32}})");
  BOOST_TEST(bad_config(groups.add_quantization(bytes_of(file)), {"groups of 32", "groups of 16"}));
  BOOST_TEST(bad_config(own.add_quantization(bytes_of("[]")), {"hf_quant_config.json"}));
}

BOOST_AUTO_TEST_CASE(absent_null_and_empty_blocks_declare_nothing) {
  BOOST_TEST(declared("{}").method == "");
  for (std::string const json : {"null", "{}", R"({"quant_method":null})"}) BOOST_TEST(block(json).method == "");
}

BOOST_AUTO_TEST_CASE(exports_of_mlx_are_unsupported_and_told_so) {
  for (std::string const key : {"quantization", "quantization_config"})
    BOOST_TEST(bad_config(parse(R"({")" + key + R"(":{"group_size":64,"bits":4}})"),
                          {"config.json", "quant_method", key, "MLX", "unsupported"}));
}

BOOST_AUTO_TEST_CASE(what_is_shown_of_a_block_is_short_and_cannot_steer_a_terminal) {
  auto const d = block(R"({"quant_method":"\u001b[2J","format":")" + std::string(5000, 'x') + "\"}");
  BOOST_TEST(to_string(d).starts_with(R"("\u001b[2J" ("xxx)"));
  BOOST_TEST(to_string(d).find('\x1b') == std::string::npos);
  BOOST_TEST(to_string(d).size() < 300u);
}

BOOST_AUTO_TEST_CASE(wrong_types_in_a_block_are_refused) {
  BOOST_TEST(bad_config(bad_block("[]"), {"quantization_config", "an object", "a list"}));
  BOOST_TEST(bad_config(bad_block(R"({"quant_method":8})"), {"quant_method = 8"}));
  BOOST_TEST(bad_config(bad_block(R"({"quant_method":"x","ignore":"lm_head"})"), {"ignore = \"lm_head\""}));
  BOOST_TEST(bad_config(bad_block(R"({"quant_method":"x","ignore":["a",1]})"), {"list of names", "ignore = 1"}));
  for (std::string const bits : {"0", "65", "-4", "4.0", "\"4\"", "true"})
    BOOST_TEST(bad_config(bad_block(R"({"quant_method":"x","bits":)" + bits + "}"), {"bits = ", bits}));
  for (std::string const size : {"-2", "1073741825", "\"g\""})
    BOOST_TEST(bad_config(bad_block(R"({"quant_method":"x","group_size":)" + size + "}"), {"group_size = ", size}));
  for (std::string const size : {"128", "[128]", "[128,0]", "[128,-1]", "[1,2,3]", "[\"a\",\"b\"]", "[128,1e2]"})
    BOOST_TEST(
        bad_config(bad_block(R"({"quant_method":"x","weight_block_size":)" + size + "}"), {"weight_block_size"}));
  BOOST_TEST(bad_config(bad_block(R"({"quant_method":"x","config_groups":{"a":{"weights":{"num_bits":0}}}})"),
                        {"num_bits = 0"}));
}
BOOST_AUTO_TEST_SUITE_END()
