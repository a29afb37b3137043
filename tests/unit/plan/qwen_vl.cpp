/// Vision-language models: two generations of names, a tower with a group of ranks of its own, shares that are not equal.
#include <penstock/arch/qwen_vl.hpp>

#include <penstock/plan/choose_map.hpp>
#include <penstock/plan/inventory.hpp>

#include <boost/test/unit_test.hpp>

#include "made_of.hpp"

using namespace test;

namespace {
constexpr auto maps = maps_of<arch::any_of<arch::qwen2_vl, arch::qwen2_5_vl, arch::qwen3_vl>, quant::none>();

model_config parsed(std::string const& json) { return model_config::parse(std::as_bytes(std::span{json})).value(); }
/// @param text, vision  members of the two configs
model_config config_of(std::string const& model_class, std::string const& text, std::string const& vision) {
  return parsed(R"({"architectures":[")" + model_class + R"("],"text_config":{)" + text + R"(},"vision_config":{)" +
                vision + "}}");
}
model_config small(std::string const& tower = R"("depth":3,"intermediate_size":5)") {
  return config_of("Qwen2_5_VLForConditionalGeneration",
                   R"("hidden_size":8,"num_hidden_layers":2,"vocab_size":64,"num_attention_heads":4,
                      "num_key_value_heads":2,"intermediate_size":8)",
                   R"("hidden_size":8,"out_hidden_size":8,"num_heads":4,"patch_size":2,"spatial_merge_size":1,
                      "temporal_patch_size":2,)" +
                       tower);
}
constexpr auto small_map = weight_map_of<arch::qwen2_5_vl>::view();

made_checkpoint stored(model_config const& config, std::string_view text = "model.",
                       std::string_view tower = "visual.") {
  made_checkpoint c;
  for (auto const& t : inventory_of(small_map, config).value()) {
    auto name = t.name;
    if (name.starts_with("model.")) name = std::string{text} + name.substr(6);
    if (name.starts_with("visual.")) name = std::string{tower} + name.substr(7);
    c.add(name, t.shape);
  }
  return c;
}
plan planned(made_checkpoint const& c, model_config const& config, topology const& at = {}) {
  return make_plan(c.all, config, small_map, at, {}).value();
}
topology with_tower(u32 size, u32 rank, topology at = {}) {
  at.groups[static_cast<unsigned>(rank_group::vision)] = group_place{size, rank};
  return at;
}
std::string shape_of(plan const& p, std::string_view name) {
  auto const* q = p.find(name);
  return q ? to_string(q->shape) : "none";
}
}  // namespace

BOOST_AUTO_TEST_SUITE(plan_qwen_vl)

// @source the index files of Qwen/Qwen2-VL-7B-Instruct, Qwen/Qwen2.5-VL-7B-Instruct and Qwen/Qwen3-VL-8B-Instruct
BOOST_AUTO_TEST_CASE(public_models_have_these_tensors_and_bytes) {
  auto const qwen2 = R"("hidden_size":3584,"num_hidden_layers":28,"num_attention_heads":28,"num_key_value_heads":4,
                        "intermediate_size":18944,"vocab_size":152064)",
             qwen3 = R"("hidden_size":4096,"num_hidden_layers":36,"num_attention_heads":32,"num_key_value_heads":8,
                        "head_dim":128,"intermediate_size":12288,"vocab_size":151936)";
  auto const tower = R"("num_heads":16,"spatial_merge_size":2,"temporal_patch_size":2,)";
  struct {
    char const* model_class;
    char const* text;
    char const* vision;
    u64 tensors, size;
  } const models[] = {
      {"Qwen2VLForConditionalGeneration", qwen2,
       R"("depth":32,"embed_dim":1280,"hidden_size":3584,"mlp_ratio":4,"patch_size":14)", 730, 16'582'751'232},
      {"Qwen2_5_VLForConditionalGeneration", qwen2,
       R"("depth":32,"hidden_size":1280,"out_hidden_size":3584,"intermediate_size":3420,"patch_size":14)", 729,
       16'584'333'312},
      {"Qwen3VLForConditionalGeneration", qwen3,
       R"("depth":27,"hidden_size":1152,"out_hidden_size":4096,"intermediate_size":4304,"patch_size":16,
          "num_position_embeddings":2304,"deepstack_visual_indexes":[8,16,24])",
       750, 17'534'247'392},
  };
  for (auto const& m : models) {
    auto const config = config_of(m.model_class, m.text, std::string{tower} + m.vision);
    auto const map = choose_map(maps, config).value();
    auto const all = inventory_of(map, config).value();
    bytes size;
    for (auto const& t : all) size += t.size;
    BOOST_TEST(all.size() == m.tensors, m.model_class);
    BOOST_TEST(size.count == m.size, m.model_class);
    BOOST_TEST((choose_map(maps, config, "qwen_vl").value().rules().data() == map.rules().data()), m.model_class);
  }
  auto const unknown = choose_map(maps, parsed(R"({"architectures":["Other"]})"), "qwen");
  BOOST_TEST(unknown.error().message().find("architectures qwen_vl, found") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(old_names_and_new_ones_and_a_mixture_give_the_same_parameters) {
  auto const config = small();
  topology const at{.tp = 2, .rank = 1};
  auto const want = planned(stored(config), config, at);
  BOOST_TEST(shape_of(want, "model.layers.1.self_attn.qkv_proj.weight") == "[8, 8]");
  BOOST_TEST(shape_of(want, "visual.blocks.2.attn.qkv_proj.bias") == "[12]");
  BOOST_TEST(shape_of(want, "visual.patch_embed.proj.weight") == "[8, 3, 2, 2, 2]");
  for (auto const* tower : {"visual.", "model.visual."}) {
    auto const c = stored(config, "model.language_model.", tower);
    auto const got = planned(c, config, at);
    BOOST_TEST_REQUIRE(got.parameters.size() == want.parameters.size());
    for (std::size_t i = 0; i < got.parameters.size(); ++i) {
      BOOST_TEST(got.parameters[i].name == want.parameters[i].name);
      BOOST_TEST((got.parameters[i].shape == want.parameters[i].shape), got.parameters[i].name);
    }
    auto const norm = run(got, "model.layers.1.input_layernorm.weight");
    BOOST_TEST(norm.front() == element(c.all, "model.language_model.layers.1.input_layernorm.weight", 0));
  }
}

BOOST_AUTO_TEST_CASE(the_tower_is_divided_over_its_own_group) {
  auto const config = small();
  auto const c = stored(config);
  auto const alone = planned(c, config, with_tower(1, 0, {.tp = 2, .rank = 1}));
  BOOST_TEST(shape_of(alone, "visual.blocks.0.attn.qkv_proj.weight") == "[24, 8]");
  BOOST_TEST(shape_of(alone, "visual.merger.mlp.0.weight") == "[8, 8]");
  BOOST_TEST(shape_of(alone, "model.layers.0.self_attn.o_proj.weight") == "[8, 4]");
  auto const shared = planned(c, config, with_tower(4, 3));
  BOOST_TEST(shape_of(shared, "model.layers.0.self_attn.o_proj.weight") == "[8, 8]");
  std::vector<u16> want;
  for (u64 row : {6u, 7u, 14u, 15u, 22u, 23u})
    for (u64 k = 0; k < 8; ++k) want.push_back(element(c.all, "visual.blocks.0.attn.qkv.weight", row * 8 + k));
  BOOST_TEST(run(shared, "visual.blocks.0.attn.qkv_proj.weight") == want, boost::test_tools::per_element());
  auto const refused = make_plan(c.all, config, small_map, with_tower(3, 0), {});
  BOOST_TEST(refused.error().message().find("4 heads cannot be divided over 3 ranks") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(what_does_not_divide_ends_in_zeros) {  // five wide over two and four ranks: 3 + 2, 2 + 2 + 1 + 0
  auto const config = small();
  auto const c = stored(config);
  for (u64 const ranks : {2u, 4u})
    for (u64 rank = 0; rank < ranks; ++rank) {
      u64 const each = (5 + ranks - 1) / ranks, first = std::min<u64>(5, rank * each);
      auto const p = planned(c, config, with_tower(static_cast<u32>(ranks), static_cast<u32>(rank)));
      std::vector<u16> up, bias, down;
      for (auto const* name : {"visual.blocks.1.mlp.gate_proj", "visual.blocks.1.mlp.up_proj"})
        for (u64 row = first; row < first + each; ++row) {
          bool const there = row < 5;
          bias.push_back(there ? element(c.all, std::string{name} + ".bias", row) : u16{0});
          for (u64 k = 0; k < 8; ++k)
            up.push_back(there ? element(c.all, std::string{name} + ".weight", row * 8 + k) : u16{0});
        }
      for (u64 row = 0; row < 8; ++row)
        for (u64 k = first; k < first + each; ++k)
          down.push_back(k < 5 ? element(c.all, "visual.blocks.1.mlp.down_proj.weight", row * 5 + k) : u16{0});
      BOOST_TEST(run(p, "visual.blocks.1.mlp.gate_up_proj.weight") == up, boost::test_tools::per_element());
      BOOST_TEST(run(p, "visual.blocks.1.mlp.gate_up_proj.bias") == bias, boost::test_tools::per_element());
      BOOST_TEST(run(p, "visual.blocks.1.mlp.down_proj.weight") == down, boost::test_tools::per_element());
    }
}

BOOST_AUTO_TEST_CASE(the_tower_is_on_the_first_stage_and_its_blocks_are_no_layers_of_the_model) {
  auto const config = small();
  auto const c = stored(config);
  auto const first = planned(c, config, {.pp = 2}), last = planned(c, config, {.pp = 2, .rank = 1});
  BOOST_TEST(first.layers == 3u);  // two, and what belongs to none
  BOOST_TEST(index_of(first.find("visual.blocks.2.norm1.weight")->layer) == 2u);
  BOOST_TEST(index_of(last.find("model.layers.1.input_layernorm.weight")->layer) == 1u);
  for (auto const& q : last.parameters) BOOST_TEST(!q.name.starts_with("visual."), q.name);
  BOOST_TEST(shape_of(first, "model.layers.1.input_layernorm.weight") == "none");
}

BOOST_AUTO_TEST_SUITE_END()
