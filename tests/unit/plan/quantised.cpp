/// Models that are stored quantised: Kimi-K2.5 (packed words) and gpt-oss (MXFP4), and what their rules are made of.
#include <penstock/arch/gpt_oss.hpp>
#include <penstock/arch/kimi_k25.hpp>
#include <penstock/quant/mxfp4.hpp>
#include <penstock/quant/wna16.hpp>

#include <boost/test/unit_test.hpp>

#include "deepseek.hpp"

using namespace test;

namespace {
using schemes = quant::any_of<quant::fp8_block, quant::mxfp4, quant::wna16, quant::wna16_channel>;
constexpr auto kimi_map = weight_map_of<arch::kimi_k25, schemes>::view();
constexpr auto oss_map = weight_map_of<arch::gpt_oss, schemes>::view();
constexpr auto packed_llama = weight_map_of<arch::llama, schemes>::view();

std::string packed(std::string const& weights = R"("num_bits":4,"group_size":32)", std::string const& ignore = "") {
  return R"({"quant_method":"compressed-tensors","format":"pack-quantized","config_groups":{"group_0":{
    "targets":["Linear"],"input_activations":null,"weights":{)" +
         weights + R"(}}},"ignore":["lm_head")" + ignore + "]}";
}
std::string const kimi_ignores =
    R"(,"re:.*self_attn.*","re:.*shared_experts.*","re:.*mlp\\.(gate|up|gate_up|down)_proj.*")";
std::string kimi(std::string const& nested, std::string const& top = "") {
  return R"({"architectures":["KimiK25ForConditionalGeneration"],"text_config":{"hidden_size":64,"num_hidden_layers":2,
    "num_attention_heads":4,"q_lora_rank":8,"kv_lora_rank":8,"qk_nope_head_dim":4,"qk_rope_head_dim":4,"v_head_dim":4,
    "intermediate_size":64,"moe_intermediate_size":64,"n_routed_experts":4,"n_shared_experts":1,
    "first_k_dense_replace":1,"vocab_size":64,"topk_method":"noaux_tc")" +
         (nested.empty() ? "" : R"(,"quantization_config":)" + nested) + R"(},"vision_config":{"vt_hidden_size":16,
    "vt_intermediate_size":24,"vt_num_attention_heads":4,"vt_num_hidden_layers":3,"patch_size":2,
    "init_pos_emb_height":3,"init_pos_emb_width":3,"merge_kernel_size":[2,2]})" +
         (top.empty() ? "" : R"(,"quantization_config":)" + top) + "}";
}
std::string oss(std::string const& quant, u64 intermediate = 320) {
  return R"({"architectures":["GptOssForCausalLM"],"model_type":"gpt_oss","hidden_size":32,"num_hidden_layers":1,
    "num_attention_heads":8,"num_key_value_heads":8,"head_dim":4,"num_local_experts":2,"vocab_size":64,
    "intermediate_size":)" +
         std::to_string(intermediate) + (quant.empty() ? "" : R"(,"quantization_config":)" + quant) + "}";
}
std::string const mx = R"({"quant_method":"mxfp4","modules_to_not_convert":["model.layers.*.self_attn","lm_head"]})";
result<plan> planned(map_view const& map, std::string const& config, topology const& at = {}) {
  auto const c = parsed(config);
  return make_plan(checkpoint_of(map, c).all, c, map, at, {});
}
std::string seen(plan const& p, std::string_view name) {
  auto const* q = p.find(name);
  return q ? std::string{name_of(q->type)} + " " + to_string(q->shape) : "none";
}
void fails(result<plan> const& p, error_kind kind, std::initializer_list<std::string_view> words) {
  BOOST_TEST_REQUIRE(!p);
  BOOST_TEST((p.error().kind() == kind), p.error().message());
  for (auto const w : words) BOOST_TEST((p.error().message().find(w) != std::string::npos), p.error().message());
}
std::string const experts = "language_model.model.layers.1.mlp.experts.";
}  // namespace

BOOST_AUTO_TEST_SUITE(plan_quantised)

BOOST_AUTO_TEST_CASE(experts_in_packed_words_are_divided_with_their_scales_and_the_rest_is_plain) {
  auto const p =
      planned(kimi_map, kimi(packed(R"("num_bits":4,"group_size":32)", kimi_ignores)), topology{.tp = 2, .rank = 1})
          .value();
  BOOST_TEST(seen(p, experts + "w13_weight_packed") == "I32 [4, 64, 8]");
  BOOST_TEST(seen(p, experts + "w13_weight_scale") == "BF16 [4, 64, 2]");
  BOOST_TEST(seen(p, experts + "w2_weight_packed") == "I32 [4, 64, 4]");
  BOOST_TEST(seen(p, experts + "w2_weight_scale") == "BF16 [4, 64, 1]");
  BOOST_TEST(seen(p, experts + "w2_weight_shape") == "none");
  BOOST_TEST(seen(p, "language_model.model.layers.1.self_attn.kv_b_proj.weight") == "BF16 [16, 8]");
  BOOST_TEST(seen(p, "language_model.model.layers.1.self_attn.w_kc") == "BF16 [2, 8, 4]");
  BOOST_TEST(seen(p, "language_model.model.layers.0.mlp.gate_up_proj.weight") == "BF16 [64, 64]");
  BOOST_TEST(seen(p, "language_model.model.layers.1.mlp.shared_experts.down_proj.weight") == "BF16 [64, 32]");
}

BOOST_AUTO_TEST_CASE(a_vision_tower_stands_on_the_first_stage_in_no_layer_and_is_divided_by_its_own_group) {
  auto const config = kimi(packed(R"("num_bits":4,"group_size":32)", kimi_ignores));
  topology at{.tp = 2, .pp = 2, .rank = 1};
  auto const first = planned(kimi_map, config, at).value();
  BOOST_TEST(seen(first, "vision_tower.patch_embed.proj.weight") == "BF16 [16, 3, 2, 2]");
  BOOST_TEST(seen(first, "vision_tower.patch_embed.pos_emb.weight") == "BF16 [3, 3, 16]");
  BOOST_TEST(seen(first, "vision_tower.encoder.blocks.2.attn.qkv_proj.weight") == "BF16 [24, 16]");
  BOOST_TEST(seen(first, "vision_tower.encoder.blocks.2.attn.proj.weight") == "BF16 [16, 8]");
  BOOST_TEST(seen(first, "vision_tower.encoder.blocks.2.mlp.fc0.weight") == "BF16 [24, 16]");
  BOOST_TEST(seen(first, "mm_projector.linear_2.weight") == "BF16 [64, 64]");
  BOOST_TEST(first.layers == 3u);
  BOOST_TEST(index_of(first.find("vision_tower.encoder.blocks.1.norm0.weight")->layer) == 2u);
  BOOST_TEST(index_of(first.find("language_model.model.layers.0.input_layernorm.weight")->layer) == 0u);
  at.rank = 2;
  auto const last = planned(kimi_map, config, at).value();
  BOOST_TEST(seen(last, "vision_tower.encoder.blocks.2.norm0.weight") == "none");
  BOOST_TEST(seen(last, "language_model.lm_head.weight") == "BF16 [32, 64]");
  at = {.tp = 2, .rank = 1};
  at.groups[static_cast<unsigned>(rank_group::vision)] = group_place{};
  BOOST_TEST(seen(planned(kimi_map, config, at).value(), "vision_tower.encoder.blocks.2.attn.qkv_proj.weight") ==
             "BF16 [48, 16]");
}

// Case H22: within the text config, at the top; the vision tower is quantised by neither.
BOOST_AUTO_TEST_CASE(a_quantisation_is_found_where_it_stands) {
  for (bool const top : {false, true}) {
    auto const block = packed(R"("num_bits":4,"group_size":4)", R"(,"re:.*self_attn.*")");
    auto const p = planned(kimi_map, top ? kimi("", block) : kimi(block)).value();
    BOOST_TEST(seen(p, experts + "w13_weight_packed") == "I32 [4, 128, 8]");
    BOOST_TEST(seen(p, "language_model.model.layers.0.mlp.down_proj.weight_scale") == "BF16 [64, 16]");
    BOOST_TEST(seen(p, "vision_tower.encoder.blocks.0.attn.proj.weight") == "BF16 [16, 16]");
  }
  // Inside of the text config, names may begin with that model's own; at the top they may not.
  auto const own = packed(R"("num_bits":4,"group_size":4)", R"(,"re:model\\.layers\\.\\d+\\.(self_attn|mlp\\.s).*")");
  BOOST_TEST(seen(planned(kimi_map, kimi(own)).value(), "language_model.model.layers.0.self_attn.o_proj.weight") ==
             "BF16 [64, 16]");
  BOOST_TEST(seen(planned(kimi_map, kimi("", own)).value(),
                  "language_model.model.layers.0.self_attn.o_proj.weight_packed") == "I32 [64, 2]");
}

BOOST_AUTO_TEST_CASE(derived_parameters_are_made_of_packed_words_too) {
  auto const p = planned(kimi_map, kimi(packed(R"("num_bits":4,"group_size":8)"))).value();
  BOOST_TEST(seen(p, "language_model.model.layers.0.self_attn.kv_b_proj.weight_packed") == "I32 [32, 1]");
  BOOST_TEST(seen(p, "language_model.model.layers.0.self_attn.w_kc") == "BF16 [4, 8, 4]");
  BOOST_TEST_REQUIRE(!p.derivations.empty());
  auto const& d = p.derivations[0];
  BOOST_TEST((d.n == 32 && d.k == 8 && d.packed == 8 && d.unit == std::array<u64, 2>{1, 8}));
  BOOST_TEST_REQUIRE(d.sources.size() == 2u);  // the note of the shape is none
  BOOST_TEST(p.parameters[index_of(d.sources[0])].name.ends_with("kv_b_proj.weight_packed"));
  BOOST_TEST(p.parameters[index_of(d.sources[1])].name.ends_with("kv_b_proj.weight_scale"));
}

BOOST_AUTO_TEST_CASE(the_shape_note_is_known_may_be_wide_or_absent_and_is_not_read) {
  auto const c = parsed(kimi(packed(R"("num_bits":4,"group_size":32)", kimi_ignores)));
  auto files = checkpoint_of(kimi_map, c);
  auto const all = make_plan(files.all, c, kimi_map, {}, {}).value();
  auto const is_note = [](auto const& t) { return t.name.ends_with(".weight_shape"); };
  BOOST_TEST(std::count_if(files.all.tensors.begin(), files.all.tensors.end(), is_note) == 12);
  for (auto& t : files.all.tensors)
    if (is_note(t)) t.type = dtype::int64;
  BOOST_TEST(make_plan(files.all, c, kimi_map, {}, {}).value().needed.count == all.needed.count);
  for (auto& t : files.all.tensors)
    if (is_note(t)) t.type = dtype::f32;
  fails(make_plan(files.all, c, kimi_map, {}, {}), error_kind::config, {".weight_shape", "I32", "F32"});
  std::erase_if(files.all.tensors, is_note);
  BOOST_TEST(make_plan(files.all, c, kimi_map, {}, {}).value().needed.count == all.needed.count);
}

BOOST_AUTO_TEST_CASE(parameters_of_a_declaration_that_no_scheme_reads_are_config_errors) {
  auto const files = checkpoint_of(kimi_map, parsed(kimi(packed(R"("num_bits":4,"group_size":32)", kimi_ignores))));
  for (auto const& [weights, word] :
       {std::pair{R"("num_bits":4,"group_size":32,"symmetric":false)", "weights.symmetric"},
        {R"("num_bits":4,"group_size":32,"actorder":"group")", "weights.actorder"},
        {R"("num_bits":3,"group_size":32)", "4 or 8 bits, found 3"},
        {R"("num_bits":4,"group_size":32,"type":"float")", "weights.type"}}) {
    auto const c = parsed(kimi(packed(weights, kimi_ignores)));
    fails(make_plan(files.all, c, kimi_map, {}, {}), error_kind::config, {"wna16", "text_config", word});
  }
  // Case H23: a broken expression.
  auto const c = parsed(kimi(packed(R"("num_bits":4,"group_size":32)", R"(,"re:(")")));
  fails(make_plan(files.all, c, kimi_map, {}, {}), error_kind::config, {"text_config.quantization_config", "\"(\""});
}

// Case H18: a rank would begin inside of a group.
BOOST_AUTO_TEST_CASE(a_rank_never_begins_inside_of_a_group) {
  auto const config = [](u64 intermediate) {
    return R"({"hidden_size":32,"num_hidden_layers":1,"num_attention_heads":2,"head_dim":16,"vocab_size":64,
      "intermediate_size":)" +
           std::to_string(intermediate) + R"(,"quantization_config":)" + packed(R"("num_bits":4,"group_size":16)") +
           "}";
  };
  topology const at{.tp = 2, .rank = 1};
  fails(planned(packed_llama, config(48), at), error_kind::plan, {"down_proj.weight_scale", "24", "16"});
  auto const p = planned(packed_llama, config(64), at).value();
  BOOST_TEST(seen(p, "model.layers.0.mlp.down_proj.weight_packed") == "I32 [32, 4]");
  BOOST_TEST(seen(p, "model.layers.0.mlp.down_proj.weight_scale") == "BF16 [32, 2]");
}

BOOST_AUTO_TEST_CASE(one_scale_for_each_row_is_whole_where_columns_are_divided) {
  auto const p =
      planned(packed_llama,
              R"({"hidden_size":32,"num_hidden_layers":1,"num_attention_heads":2,"head_dim":16,"vocab_size":64,
        "intermediate_size":48,"quantization_config":)" +
                  packed(R"("num_bits":8,"strategy":"channel")") + "}",
              topology{.tp = 2, .rank = 1})
          .value();
  BOOST_TEST(seen(p, "model.layers.0.mlp.down_proj.weight_packed") == "I32 [32, 6]");
  BOOST_TEST(seen(p, "model.layers.0.mlp.down_proj.weight_scale") == "BF16 [32, 1]");
  BOOST_TEST(seen(p, "model.layers.0.mlp.gate_up_proj.weight_scale") == "BF16 [48, 1]");
}

// Case H15: 10 blocks of 32 over 4 ranks, and over 8: the last ranks have fewer, or none, and zeros.
BOOST_AUTO_TEST_CASE(blocks_that_do_not_divide_leave_the_last_ranks_with_zeros) {
  for (u32 const tp : {4u, 8u}) {
    u64 const each = tp == 4 ? 3 : 2;
    u64 read = 0;
    for (u32 rank = 0; rank < tp; ++rank) {
      auto const p = planned(oss_map, oss(mx), topology{.tp = tp, .rank = rank}).value();
      std::string const at = "model.layers.0.mlp.experts.";
      BOOST_TEST(seen(p, at + "w13_weight") == "U8 [2, " + std::to_string(64 * each) + ", 16]");
      BOOST_TEST(seen(p, at + "w13_weight_scale") == "U8 [2, " + std::to_string(64 * each) + ", 1]");
      BOOST_TEST(seen(p, at + "w13_weight_bias") == "BF16 [2, " + std::to_string(64 * each) + "]");
      BOOST_TEST(seen(p, at + "w2_weight") == "U8 [2, 32, " + std::to_string(16 * each) + "]");
      BOOST_TEST(seen(p, at + "w2_weight_scale") == "U8 [2, 32, " + std::to_string(each) + "]");
      u64 const blocks = std::min<u64>(each, 10 - std::min<u64>(10, rank * each));
      u64 mine = 0;
      for (auto const& r : p.reads)
        for (u32 i = r.copies; i < r.copies_end; ++i)
          if (r.object != no_object && p.parameters[p.copies[i].to].name == at + "w2_weight_scale")
            mine += u64{p.copies[i].rows} * p.copies[i].width;
      BOOST_TEST(mine == 2 * 32 * blocks);
      read += mine;
    }
    BOOST_TEST(read == 2 * 32 * 10u);  // every block on one rank
  }
}

struct units {
  static constexpr std::string_view name = "units";
  static constexpr auto map =
      arch::rules(arch::tensor("padded", 10, 1).by_out().in_units_of(2).padded_with_zeros(),
                  arch::tensor("whole", 12, 2).by_in().in_units_of(2), arch::tensor("sum", 3).on_first_rank(),
                  arch::tensor("halves", 2, 12).by_in().holds(2));
};
constexpr auto units_map = weight_map_of<units>::view();
made_checkpoint unit_files() {
  made_checkpoint c;
  c.add("padded", {10, 1}), c.add("whole", {12, 2}), c.add("sum", {3}), c.add("halves", {2, 12});
  return c;
}

BOOST_AUTO_TEST_CASE(units_are_whole_and_what_has_no_padding_must_divide) {
  auto const config = model_config::of({{"hidden_size", 1}});
  auto const c = unit_files();
  fails(make_plan(c.all, config, units_map, topology{.tp = 2}, {}), error_kind::plan,
        {"whole", "1 units of 2 columns"});
}
struct small_units {
  static constexpr std::string_view name = "small_units";
  static constexpr auto map =
      arch::rules(arch::tensor("padded", 10, 1).by_out().in_units_of(2).padded_with_zeros(),
                  arch::tensor("sum", 3).on_first_rank(), arch::tensor("halves", 2, 8).by_in().holds(2));
};
// Case H15 with its numbers, rows of one element; halves of columns; what ranks add up.
BOOST_AUTO_TEST_CASE(shares_in_units_halves_and_sums) {
  auto const map = weight_map_of<small_units>::view();
  made_checkpoint c;
  c.add("padded", {10, 1}), c.add("sum", {3}), c.add("halves", {2, 8});
  auto const config = model_config::of({{"hidden_size", 1}});
  std::vector<std::vector<u64>> const rows{{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9}, {}};
  for (u32 rank = 0; rank < 4; ++rank) {
    auto const p = make_plan(c.all, config, map, topology{.tp = 4, .rank = rank}, {}).value();
    std::vector<u16> padded(4), sum(3), halves;
    for (std::size_t i = 0; i < rows[rank].size(); ++i) padded[i] = element(c.all, "padded", rows[rank][i]);
    for (u64 i = 0; i < 3 && !rank; ++i) sum[i] = element(c.all, "sum", i);
    for (u64 row = 0; row < 2; ++row)
      for (u64 half = 0; half < 2; ++half) halves.push_back(element(c.all, "halves", row * 8 + half * 4 + rank));
    BOOST_TEST(run(p, "padded") == padded, boost::test_tools::per_element());
    BOOST_TEST(run(p, "sum") == sum, boost::test_tools::per_element());
    BOOST_TEST(run(p, "halves") == halves, boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(gpt_oss_in_plain_numbers_stays_transposed) {
  auto const p = planned(oss_map, oss("", 6), topology{.tp = 2, .rank = 1}).value();
  BOOST_TEST(seen(p, "model.layers.0.mlp.experts.w13_weight") == "BF16 [2, 32, 6]");
  BOOST_TEST(seen(p, "model.layers.0.mlp.experts.w2_weight") == "BF16 [2, 3, 32]");
  BOOST_TEST(seen(p, "model.layers.0.mlp.experts.w13_weight_bias") == "BF16 [2, 6]");
  BOOST_TEST(seen(p, "model.layers.0.self_attn.sinks") == "BF16 [4]");
  BOOST_TEST(seen(p, "model.layers.0.self_attn.qkv_proj.bias") == "BF16 [48]");  // attention_bias is the default
  fails(planned(oss_map, oss("", 6), topology{.tp = 4}), error_kind::plan,
        {"gate_up_proj", "6 units of 2 columns", "4"});
}

BOOST_AUTO_TEST_CASE(blocks_without_a_declaration_and_a_declaration_without_blocks_name_tensor_and_field) {
  auto const blocks = parsed(oss(mx)), numbers = parsed(oss(""));
  fails(make_plan(checkpoint_of(oss_map, blocks).all, numbers, oss_map, {}, {}), error_kind::config,
        {"gate_up_proj_blocks", "no quantization_config"});
  fails(make_plan(checkpoint_of(oss_map, numbers).all, blocks, oss_map, {}, {}), error_kind::config,
        {"\"model.layers.0.mlp.experts.gate_up_proj\"", "quantization_config"});
}

BOOST_AUTO_TEST_CASE(public_models_have_their_totals) {
  auto const totals = [](std::string const& config) {
    u64 bytes = 0, n = 0;
    for (auto const& t : inventory_of(oss_map, parsed(config)).value()) bytes += t.size.count, ++n;
    return std::pair{n, bytes};
  };
  auto const config = [](u64 layers, u64 count) {
    return R"({"model_type":"gpt_oss","hidden_size":2880,"num_attention_heads":64,"num_key_value_heads":8,"head_dim":64,
      "intermediate_size":2880,"vocab_size":201088,"num_hidden_layers":)" +
           std::to_string(layers) + R"(,"num_local_experts":)" + std::to_string(count) + R"(,"quantization_config":)" +
           mx + "}";
  };
  BOOST_TEST((totals(config(24, 32)) == std::pair<u64, u64>{459, 13'761'264'768}));
  BOOST_TEST((totals(config(36, 128)) == std::pair<u64, u64>{687, 65'248'815'744}));
}

BOOST_AUTO_TEST_SUITE_END()
