#include <penstock/plan/schemes.hpp>

#include <boost/test/unit_test.hpp>

#include "deepseek.hpp"

using namespace test;

namespace {
result<plan> planned(model_config const& c, made_checkpoint const& files, plan_options const& o = {},
                     map_view const& map = deepseek_map) {
  return make_plan(files.all, c, map, topology{}, o);
}
result<plan> planned(std::string const& config, plan_options const& o = {}) {
  auto const c = parsed(config);
  return planned(c, checkpoint_of(deepseek_map, c), o);
}
dtype type_of(plan const& p, std::string_view name) { return p.find(name) ? p.find(name)->type : dtype::any_float; }
void fails(result<plan> const& p, error_kind kind, std::initializer_list<std::string_view> words) {
  BOOST_TEST_REQUIRE(!p);
  BOOST_TEST((p.error().kind() == kind));
  for (auto const w : words) BOOST_TEST((p.error().message().find(w) != std::string::npos), p.error().message());
}
std::string const kv_b = "model.layers.0.self_attn.kv_b_proj.weight";
}  // namespace

BOOST_AUTO_TEST_SUITE(plan_schemes)

BOOST_AUTO_TEST_CASE(what_the_config_declares_is_every_linear_s_scheme_but_for_those_it_ignores) {
  auto const p =
      planned(small_deepseek("", R"(,"modules_to_not_convert":["layers.0.self_attn.kv_b_proj","lm_head"])")).value();
  BOOST_TEST((type_of(p, kv_b) == dtype::bf16));
  BOOST_TEST((type_of(p, "model.layers.1.self_attn.kv_b_proj.weight") == dtype::f8_e4m3));
  BOOST_TEST(!p.find("model.layers.0.self_attn.kv_b_proj.weight_scale_inv"));
  BOOST_TEST(p.find("model.layers.1.self_attn.kv_b_proj.weight_scale_inv"));
  BOOST_TEST((type_of(p, "model.layers.1.mlp.gate.weight") == dtype::bf16));
  BOOST_TEST((type_of(p, "lm_head.weight") == dtype::bf16));
}

BOOST_AUTO_TEST_CASE(an_entry_is_a_whole_name_or_its_last_segments_and_no_parent) {
  for (auto const* entry : {"model.layers.0.self_attn.kv_b_proj", "layers.0.self_attn.kv_b_proj", "kv_b_proj"})
    BOOST_TEST((type_of(planned(small_deepseek("", std::string(R"(,"ignored_layers":[")") + entry + "\"]")).value(),
                        kv_b) == dtype::bf16),
               entry);
  for (auto const* entry : {"self_attn", "model.layers.0.self_attn", "b_proj", "model.layers.0", "kv_b_proj.weight"})
    BOOST_TEST((type_of(planned(small_deepseek("", std::string(R"(,"ignored_layers":[")") + entry + "\"]")).value(),
                        kv_b) == dtype::f8_e4m3),
               entry);
}

// Case H23: a fused parameter whose pieces are not all ignored.
BOOST_AUTO_TEST_CASE(pieces_of_one_parameter_are_ignored_together_or_not_at_all) {
  auto const q_a = R"(,"ignored_layers":["model.layers.1.self_attn.q_a_proj")";
  auto const c = parsed(small_deepseek("", q_a + std::string("]")));
  fails(planned(c, checkpoint_of(deepseek_map, parsed(small_deepseek()))), error_kind::config,
        {"model.layers.1.self_attn.q_a_proj", "model.layers.1.self_attn.kv_a_proj_with_mqa",
         "fused_qkv_a_proj_with_mqa"});
  auto const p =
      planned(small_deepseek("", q_a + std::string(R"(,"model.layers.1.self_attn.kv_a_proj_with_mqa"])"))).value();
  BOOST_TEST((type_of(p, "model.layers.1.self_attn.fused_qkv_a_proj_with_mqa.weight") == dtype::bf16));
}

BOOST_AUTO_TEST_CASE(a_declaration_that_is_none_of_the_schemes_is_a_config_error_with_both) {
  auto const c = parsed(small_deepseek());
  auto const files = checkpoint_of(deepseek_map, c);
  fails(planned(c, files, {}, weight_map_of<arch::deepseek_v3>::view()), error_kind::config,
        {"fp8", "quantization_config", "none"});
  auto const int4 = parsed(R"({"hidden_size":16,"num_hidden_layers":2,"num_attention_heads":4,"kv_lora_rank":6,
    "qk_nope_head_dim":4,"qk_rope_head_dim":4,"v_head_dim":4,"intermediate_size":16,"moe_intermediate_size":16,
    "n_routed_experts":4,"vocab_size":64,"quantization_config":{"quant_method":"awq","bits":4}})");
  fails(planned(int4, files), error_kind::config, {"awq", "none, fp8_block"});
}

BOOST_AUTO_TEST_CASE(declared_and_not_stored_is_an_error_that_names_the_first_tensor_and_the_field) {
  auto const c = parsed(small_deepseek());
  std::string plain = small_deepseek();
  plain.replace(plain.find(",\"quantization_config\""), std::string::npos, "}");
  fails(planned(c, checkpoint_of(deepseek_map, parsed(plain))), error_kind::config,
        {"model.layers.0.self_attn.q_a_proj.weight\"", "F8_E4M3", "BF16", "quantization_config", "fp8_block"});
}
BOOST_AUTO_TEST_CASE(stored_and_not_declared_is_an_error_that_names_the_first_tensor_and_the_field) {
  std::string plain = small_deepseek();
  plain.replace(plain.find(",\"quantization_config\""), std::string::npos, "}");
  fails(planned(parsed(plain), checkpoint_of(deepseek_map, parsed(small_deepseek()))), error_kind::config,
        {"model.layers.0.self_attn.q_a_proj.weight\"", "BF16, F16 or F32", "F8_E4M3", "no quantization_config"});
}
BOOST_AUTO_TEST_CASE(a_scale_that_no_scheme_of_the_pipeline_reads_is_named_as_what_it_is) {
  std::string plain = small_deepseek();
  plain.replace(plain.find(",\"quantization_config\""), std::string::npos, "}");
  made_checkpoint files = checkpoint_of(deepseek_map, parsed(plain));
  files.add("model.layers.0.mlp.down_proj.weight_scale_inv", {4, 4}, dtype::f32);
  fails(planned(parsed(plain), files, {}, weight_map_of<arch::deepseek_v3>::view()), error_kind::config,
        {"model.layers.0.mlp.down_proj.weight_scale_inv", "beside the weight", "none"});
  fails(planned(parsed(plain), files), error_kind::config,
        {"model.layers.0.mlp.down_proj.weight_scale_inv", "quantisation of this module: none"});
}
BOOST_AUTO_TEST_CASE(a_weight_without_its_scale_is_missing_that_tensor) {
  auto const c = parsed(small_deepseek());
  auto files = checkpoint_of(deepseek_map, c);
  std::erase_if(files.all.tensors,
                [](auto const& t) { return t.name == "model.layers.0.mlp.down_proj.weight_scale_inv"; });
  fails(planned(c, files), error_kind::plan, {"model.layers.0.mlp.down_proj.weight_scale_inv"});
}

BOOST_AUTO_TEST_CASE(a_scheme_may_be_named_and_must_not_contradict_the_config) {
  plan_options o;
  o.quant = "fp8_block";
  BOOST_TEST(planned(small_deepseek(), o).has_value());
  o.quant = "none";
  fails(planned(small_deepseek(), o), error_kind::config, {"fp8", "\"none\""});
  std::string plain = small_deepseek();
  auto const at = plain.find("\"quantization_config\"");
  plain.replace(at, 21, "\"quantization_before\"");
  o.quant = "fp8_block";
  fails(planned(plain, o), error_kind::config, {"weight_block_size", "declares no quantisation"});
  o.quant = "awq";
  fails(planned(small_deepseek(), o), error_kind::usage, {"none, fp8_block", "awq"});
}
BOOST_AUTO_TEST_CASE(an_expression_in_the_ignore_list_is_matched_whatever_the_scheme) {
  auto const p = planned(small_deepseek("", R"(,"ignored_layers":["re:.*self_attn.*"])")).value();
  BOOST_TEST((type_of(p, kv_b) == dtype::bf16));
  BOOST_TEST((type_of(p, "model.layers.0.mlp.down_proj.weight") == dtype::f8_e4m3));
}

BOOST_AUTO_TEST_SUITE_END()
