/// The plan of DeepSeek-V3: names, shapes, blocks of scales, experts, the draft model, what is derived.
#include "deepseek.hpp"

#include <boost/test/unit_test.hpp>

using namespace test;

namespace {
struct world {
  model_config config = parsed(deepseek_v3_config());
  made_checkpoint files = checkpoint_of(deepseek_map, config);
};
world const& public_v3() {
  static world const w;
  return w;
}
result<plan> planned(topology const& at, map_view const& map = deepseek_map) {
  return make_plan(public_v3().files.all, public_v3().config, map, at, {});
}
std::string shape_of(plan const& p, std::string_view name) {
  auto const* q = p.find(name);
  return q ? std::string{name_of(q->type)} + " " + to_string(q->shape) : "none";
}
result<plan> small(std::string const& json, topology const& at = {}, map_view const& map = deepseek_map) {
  auto const c = parsed(json);
  if (auto const all = inventory_of(deepseek_map, c); !all) return all.error();
  return make_plan(checkpoint_of(deepseek_map, c).all, c, map, at, {});
}
/// A draft model that has an embedding and a head of its own, which are the main model's tensors.
struct whole_draft {
  static constexpr std::string_view name = "whole_draft";
  static constexpr auto map = arch::override_rules(
      arch::deepseek_v3_mtp::map,
      arch::tensor("model.embed_tokens.weight", arch::vocab, arch::hidden).by_vocab().as("draft.embed_tokens.weight"),
      arch::tensor("lm_head.weight", arch::vocab, arch::hidden).unless(arch::tied).as("draft.head.weight"));
};
constexpr auto whole_draft_map = weight_map_of<whole_draft, quant::any_of<quant::fp8_block>>::view();
struct indexer {
  static constexpr std::string_view name = "indexer";
  static constexpr auto map =
      arch::rules(arch::fuse("indexer.wk_weights_proj", arch::linear("indexer.wk", 8, arch::hidden).in_model_dtype(),
                             arch::plain("indexer.weights_proj", 2, arch::hidden)));
};
constexpr auto indexer_map = weight_map_of<indexer, quant::any_of<quant::fp8_block>>::view();
struct odd {
  static constexpr std::string_view name = "odd";
  static constexpr auto map = arch::rules(arch::linear("kv_b", arch::hidden, arch::hidden),
                                          arch::derived("made", "kv_b", arch::rows_of_head(3, 0, 2)));
};
}  // namespace

BOOST_AUTO_TEST_SUITE(plan_deepseek)

BOOST_AUTO_TEST_CASE(each_rank_of_eight_has_the_shapes_that_engines_have) {
  auto const p = planned({.tp = 8, .rank = 3}).value();
  std::string const dense = "model.layers.0.", moe = "model.layers.60.";
  BOOST_TEST(shape_of(p, dense + "self_attn.fused_qkv_a_proj_with_mqa.weight") == "F8_E4M3 [2112, 7168]");
  BOOST_TEST(shape_of(p, dense + "self_attn.fused_qkv_a_proj_with_mqa.weight_scale_inv") == "F32 [17, 56]");
  BOOST_TEST(shape_of(p, dense + "self_attn.q_b_proj.weight") == "F8_E4M3 [3072, 1536]");
  BOOST_TEST(shape_of(p, dense + "self_attn.kv_b_proj.weight") == "F8_E4M3 [4096, 512]");
  BOOST_TEST(shape_of(p, dense + "self_attn.kv_b_proj.weight_scale_inv") == "F32 [32, 4]");
  BOOST_TEST(shape_of(p, dense + "self_attn.o_proj.weight") == "F8_E4M3 [7168, 2048]");
  BOOST_TEST(shape_of(p, dense + "mlp.gate_up_proj.weight") == "F8_E4M3 [4608, 7168]");
  BOOST_TEST(shape_of(p, moe + "mlp.experts.w13_weight") == "F8_E4M3 [256, 512, 7168]");
  BOOST_TEST(shape_of(p, moe + "mlp.experts.w13_weight_scale_inv") == "F32 [256, 4, 56]");
  BOOST_TEST(shape_of(p, moe + "mlp.experts.w2_weight") == "F8_E4M3 [256, 7168, 256]");
  BOOST_TEST(shape_of(p, moe + "mlp.experts.w2_weight_scale_inv") == "F32 [256, 56, 2]");
  BOOST_TEST(shape_of(p, moe + "mlp.gate.e_score_correction_bias") == "F32 [256]");
  BOOST_TEST(shape_of(p, moe + "self_attn.w_kc") == "BF16 [16, 512, 128]");
  BOOST_TEST(shape_of(p, moe + "self_attn.w_vc") == "BF16 [16, 128, 512]");
  BOOST_TEST(shape_of(p, "model.embed_tokens.weight") == "BF16 [16160, 7168]");
  BOOST_TEST(shape_of(p, "model.layers.61.enorm.weight") == "none");
  BOOST_TEST(p.memory.kept.count == 0u);  // nothing waits for anything
  BOOST_TEST(p.groups.empty());
}

BOOST_AUTO_TEST_CASE(blocks_of_experts_are_divided_before_they_are_read) {
  auto const p = planned({.tp = 8, .ep = 4, .rank = 5}).value();
  BOOST_TEST(shape_of(p, "model.layers.3.mlp.experts.w13_weight") == "F8_E4M3 [64, 2048, 7168]");
  BOOST_TEST(shape_of(p, "model.layers.3.mlp.experts.w2_weight") == "F8_E4M3 [64, 7168, 1024]");
  BOOST_TEST(shape_of(p, "model.layers.3.mlp.shared_experts.gate_up_proj.weight") == "F8_E4M3 [512, 7168]");
  u64 expert_bytes = 0;
  for (auto const& q : p.parameters)
    if (q.name.find(".experts.") != q.name.npos) expert_bytes += q.size.count;
  u64 all = 0;
  for (auto const& q : p.parameters) all += q.derived ? 0 : q.size.count;
  BOOST_TEST(p.needed.count == all);  // experts of others are not among the reads
  BOOST_TEST(expert_bytes > all / 2);
}

BOOST_AUTO_TEST_CASE(more_blocks_of_experts_than_experts_are_refused) {
  auto const p = small(small_deepseek(), {.tp = 8, .ep = 8});
  BOOST_TEST_REQUIRE(!p);
  BOOST_TEST((p.error().kind() == error_kind::plan));
  BOOST_TEST(p.error().message().find("ep of at most 4") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_known_name_outside_the_config_s_numbers_names_the_keys) {
  auto const c = parsed(small_deepseek());
  auto files = checkpoint_of(deepseek_map, c);
  files.add("model.layers.1.mlp.experts.4.up_proj.weight", {16, 16}, dtype::f8_e4m3);
  auto const p = make_plan(files.all, c, deepseek_map, topology{}, {});
  BOOST_TEST_REQUIRE(!p);
  BOOST_TEST((p.error().kind() == error_kind::plan));
  for (auto const* word : {"experts.4.up_proj.weight", "num_hidden_layers", "n_routed_experts"})
    BOOST_TEST(p.error().message().find(word) != std::string::npos, p.error().message());
}

BOOST_AUTO_TEST_CASE(a_rank_count_that_cuts_a_block_is_refused_for_every_rank) {
  for (u32 const rank : {0u, 1u, 31u}) {
    auto const p = planned({.tp = 32, .rank = rank});
    BOOST_TEST_REQUIRE(!p);
    BOOST_TEST((p.error().kind() == error_kind::plan));
    BOOST_TEST(p.error().message().find("cuts a unit of 128") != std::string::npos);
  }
  BOOST_TEST(!planned({.tp = 32, .ep = 32, .rank = 0}));  // dense layers and shared experts do not divide either
  BOOST_TEST(planned({.tp = 16, .rank = 15}).has_value());
}

BOOST_AUTO_TEST_CASE(only_the_last_piece_of_an_unshared_parameter_may_end_in_part_of_a_block) {
  BOOST_TEST(small(small_deepseek()).has_value());  // kv_a: 10 rows
  std::string ragged = small_deepseek();
  ragged.replace(ragged.find("\"q_lora_rank\":8"), 15, "\"q_lora_rank\":10");
  BOOST_TEST(!small(ragged));
  std::string gate = small_deepseek();  // each piece of gate_up is whole blocks, also on one rank
  gate.replace(gate.find("\"intermediate_size\":16"), 22, "\"intermediate_size\":18");
  BOOST_TEST(!small(gate));
}

BOOST_AUTO_TEST_CASE(without_a_low_rank_query_the_projections_are_their_own_parameters) {
  std::string plain = small_deepseek();
  plain.replace(plain.find("\"q_lora_rank\":8"), 15, "\"q_lora_rank\":null");
  auto const p = small(plain).value();
  BOOST_TEST(shape_of(p, "model.layers.0.self_attn.q_proj.weight") == "F8_E4M3 [32, 16]");
  BOOST_TEST(shape_of(p, "model.layers.0.self_attn.kv_a_proj_with_mqa.weight") == "F8_E4M3 [10, 16]");
  BOOST_TEST(shape_of(p, "model.layers.0.self_attn.kv_a_proj_with_mqa.weight_scale_inv") == "F32 [3, 4]");
  BOOST_TEST(shape_of(p, "model.layers.0.self_attn.fused_qkv_a_proj_with_mqa.weight") == "none");
}

BOOST_AUTO_TEST_CASE(the_draft_model_is_a_map_of_its_own_over_the_same_checkpoint) {
  auto const p = planned({.tp = 8, .rank = 0}, draft_map).value();
  BOOST_TEST(shape_of(p, "model.eh_proj.weight") == "BF16 [7168, 14336]");
  BOOST_TEST(shape_of(p, "model.shared_head.norm.weight") == "BF16 [7168]");
  BOOST_TEST(shape_of(p, "model.decoder.self_attn.fused_qkv_a_proj_with_mqa.weight") == "F8_E4M3 [2112, 7168]");
  BOOST_TEST(shape_of(p, "model.decoder.mlp.experts.w13_weight") == "F8_E4M3 [256, 512, 7168]");
  BOOST_TEST(shape_of(p, "model.decoder.self_attn.w_kc") == "BF16 [16, 512, 128]");
  BOOST_TEST(shape_of(p, "model.embed_tokens.weight") == "none");
  for (auto const& q : p.parameters) BOOST_TEST(q.name.find("layers") == q.name.npos);
}
BOOST_AUTO_TEST_CASE(a_checkpoint_without_a_draft_has_none_to_give_and_two_are_too_many) {
  std::string none = small_deepseek(), two = none;
  none.replace(none.find("\"num_nextn_predict_layers\":1"), 28, "\"num_nextn_predict_layers\":0");
  two.replace(two.find("\"num_nextn_predict_layers\":1"), 28, "\"num_nextn_predict_layers\":2");
  BOOST_TEST(small(none).has_value());
  auto const empty = small(none, {}, draft_map), double_draft = small(two, {}, draft_map);
  BOOST_TEST_REQUIRE((!empty && !double_draft));
  BOOST_TEST((empty.error().kind() == error_kind::plan && double_draft.error().kind() == error_kind::plan));
  BOOST_TEST(double_draft.error().message().find("found 2") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(the_router_s_bias_is_required_where_the_config_routes_by_it) {
  auto without_bias = [](std::string const& json) {
    auto const c = parsed(json);
    auto files = checkpoint_of(deepseek_map, c);
    std::erase_if(files.all.tensors, [](auto const& t) { return t.name.ends_with("correction_bias"); });
    return make_plan(files.all, c, deepseek_map, topology{}, {});
  };
  BOOST_TEST(!without_bias(small_deepseek(R"(,"topk_method":"noaux_tc")")));
  auto const greedy = without_bias(small_deepseek(R"(,"topk_method":"greedy")"));
  BOOST_TEST_REQUIRE(greedy.has_value());
  BOOST_TEST(shape_of(*greedy, "model.layers.1.mlp.gate.e_score_correction_bias") == "none");
}

BOOST_AUTO_TEST_CASE(a_head_that_does_not_divide_its_rows_cannot_be_derived) {
  made_checkpoint c;
  c.add("kv_b.weight", {4, 4});
  auto const p = make_plan(c.all, model_config::of({{"hidden_size", 4}}), weight_map_of<odd>::view(), topology{}, {});
  BOOST_TEST_REQUIRE(!p);
  BOOST_TEST(p.error().message().find("\"made\"") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(what_is_asked_for_in_plain_numbers_must_be_stored_so) {
  made_checkpoint c;
  c.add("indexer.wk.weight", {8, 4}, dtype::f8_e4m3), c.add("indexer.wk.weight_scale_inv", {2, 1}, dtype::f32);
  c.add("indexer.weights_proj.weight", {2, 4});
  std::string const quant = R"({"hidden_size":4,"quantization_config":{"quant_method":"fp8","weight_block_size":[4,4])";
  auto const refused = make_plan(c.all, parsed(quant + "}}"), indexer_map, {}, {});
  BOOST_TEST_REQUIRE(!refused);
  BOOST_TEST((refused.error().kind() == error_kind::plan));
  for (auto const* word : {"\"indexer.wk.weight", "plain numbers", "fp8_block", "derived()"})
    BOOST_TEST(refused.error().message().find(word) != std::string::npos, word);
  made_checkpoint plain;
  plain.add("indexer.wk.weight", {8, 4}), plain.add("indexer.weights_proj.weight", {2, 4});
  auto const p =
      make_plan(plain.all, parsed(quant + R"(,"modules_to_not_convert":["indexer.wk"]}})"), indexer_map, {}, {});
  BOOST_TEST(shape_of(p.value(), "indexer.wk_weights_proj.weight") == "BF16 [10, 4]");
}

BOOST_AUTO_TEST_CASE(a_model_and_its_draft_are_one_plan) {
  auto const config = parsed(small_deepseek());
  auto const c = checkpoint_of(deepseek_map, config);
  for (topology at : {topology{}, topology{.tp = 2, .ep = 2, .rank = 1}, topology{.tp = 2, .pp = 2, .rank = 1},
                      topology{.tp = 2, .pp = 2, .rank = 3}}) {
    auto const main = make_plan(c.all, config, deepseek_map, at, {}).value();
    auto const draft_at = topology{.tp = at.tp, .ep = at.ep, .rank = at.rank % at.tp};
    auto const draft = make_plan(c.all, config, draft_map, draft_at, {}).value();
    auto const both = make_plan(c.all, config, std::array{deepseek_map, draft_map}, at, {}).value();
    std::size_t const more = at.last_stage() ? draft.parameters.size() : 0;
    BOOST_TEST_REQUIRE(both.parameters.size() == main.parameters.size() + more);
    BOOST_TEST_REQUIRE(both.models.size() == 2u);
    BOOST_TEST((both.models[0].end == main.parameters.size() && both.models[1].first == both.models[0].end));
    BOOST_TEST((both.models[1].arch == "deepseek_v3_mtp" && index_of(both.models[1].layer) == main.layers));
    BOOST_TEST(both.layers == main.layers + draft.layers);
    for (std::size_t i = 0; i < both.parameters.size(); ++i) {
      bool const of_main = i < main.parameters.size();
      auto const& want = of_main ? main.parameters[i] : draft.parameters[i - main.parameters.size()];
      auto const& got = both.parameters[i];
      BOOST_TEST(got.name == want.name);
      BOOST_TEST((got.shape == want.shape && got.size == want.size && got.derived == want.derived), got.name);
      BOOST_TEST(index_of(got.layer) == index_of(want.layer) + (of_main ? 0 : main.layers), got.name);
    }
    bytes const of_draft = more ? draft.needed : bytes{};
    BOOST_TEST(both.needed.count == (main.needed + of_draft).count);
    BOOST_TEST(both.tensors == main.tensors + (more ? draft.tensors : 0));
    BOOST_TEST(both.input_hash != main.input_hash);
    auto const one = run(both, "model.eh_proj.weight"), alone = run(draft, "model.eh_proj.weight");
    if (more) BOOST_TEST(one == alone, boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(what_both_models_need_is_read_once) {
  auto const config = parsed(small_deepseek());
  auto const c = checkpoint_of(deepseek_map, config);
  topology const at{.tp = 2, .rank = 1};
  plan_options o;
  o.storage.gap = bytes{0};
  auto const main = make_plan(c.all, config, deepseek_map, at, o).value();
  auto const draft = make_plan(c.all, config, whole_draft_map, at, o).value();
  auto const both = make_plan(c.all, config, std::array{deepseek_map, whole_draft_map}, at, o).value();
  bytes const share{32 * 16 * 2};  // of the embedding, which both divide; the draft has the head whole
  BOOST_TEST(both.needed.count == (main.needed + draft.needed - share).count);
  BOOST_TEST(both.read.count == both.needed.count);
  BOOST_TEST(both.tensors + 2 == main.tensors + draft.tensors);
  BOOST_TEST(run(both, "draft.embed_tokens.weight") == run(main, "model.embed_tokens.weight"),
             boost::test_tools::per_element());
  BOOST_TEST(run(both, "draft.head.weight") == run(draft, "draft.head.weight"), boost::test_tools::per_element());
  auto const twice = make_plan(c.all, config, std::array{deepseek_map, deepseek_map}, at, o);
  BOOST_TEST(twice.error().message().find("\"model.embed_tokens.weight\" in two") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_table_of_experts_may_be_for_the_draft) {
  auto const config = parsed(small_deepseek());
  auto const c = checkpoint_of(deepseek_map, config);
  topology at;
  at.experts = {{2u, {{3, 2, 1, 0, 1}}}};
  auto const both = make_plan(c.all, config, std::array{deepseek_map, draft_map}, at, {}).value();
  BOOST_TEST(shape_of(both, "model.decoder.mlp.experts.w2_weight") == "F8_E4M3 [5, 16, 16]");
  BOOST_TEST(!make_plan(c.all, config, deepseek_map, at, {}));
}

BOOST_AUTO_TEST_SUITE_END()
