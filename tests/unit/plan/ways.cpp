/// Ways in which one model is stored: experts one by one or in one tensor, names with a prefix or without, row blocks.
#include <penstock/arch/bert.hpp>
#include <penstock/arch/qwen3_moe.hpp>

#include <penstock/plan/inventory.hpp>

#include <algorithm>

#include <boost/test/unit_test.hpp>

#include "made_of.hpp"

using namespace test;

namespace {
constexpr auto qwen_map = weight_map_of<arch::qwen3_moe>::view();
constexpr auto bert_map = weight_map_of<arch::bert>::view();
struct three_blocks {
  static constexpr std::string_view name = "three_blocks";
  static constexpr auto map =
      arch::rules(arch::linear("qkv", 3 * arch::hidden, arch::hidden).holds(3).by_heads(arch::heads).bias());
};
constexpr auto blocks_map = weight_map_of<three_blocks>::view();

model_config moe_config() {
  return model_config::of({{"hidden_size", 4},
                           {"num_hidden_layers", 2},
                           {"vocab_size", 64},
                           {"num_experts", 5},
                           {"num_attention_heads", 4},
                           {"num_key_value_heads", 2},
                           {"head_dim", 2},
                           {"moe_intermediate_size", 6},
                           {"intermediate_size", 8},
                           {"tie_word_embeddings", 0},
                           {"attention_bias", 0}});
}
model_config bert_config() {
  return model_config::of({{"hidden_size", 8},
                           {"num_hidden_layers", 1},
                           {"vocab_size", 10},
                           {"intermediate_size", 6},
                           {"num_attention_heads", 2},
                           {"max_position_embeddings", 4},
                           {"type_vocab_size", 2}});
}
/// The tensors of the config, each by itself; with `in_one`, those of a layer's experts joined.
made_checkpoint qwen(bool in_one) {
  made_checkpoint c;
  for (auto const& t : inventory_of(qwen_map, moe_config()).value())
    if (!in_one || t.name.find(".experts.") == t.name.npos) c.add(t.name, t.shape);
  for (auto const* layer : {"model.layers.0.mlp.experts.", "model.layers.1.mlp.experts."})
    if (in_one)
      c.add(layer + std::string{"gate_up_proj"}, {5, 12, 4}), c.add(layer + std::string{"down_proj"}, {5, 4, 6});
  return c;
}
std::string shape_of(plan const& p, std::string_view name) {
  auto const* q = p.find(name);
  return q ? to_string(q->shape) : "none";
}
std::string failure(made_checkpoint const& c, model_config const& config, map_view const& map,
                    topology const& at = {}) {
  auto const p = make_plan(c.all, config, map, at, {});
  BOOST_TEST_REQUIRE(!p);
  return p.error().message();
}
bool has(std::string const& s, std::string_view part) { return s.find(part) != s.npos; }
}  // namespace

BOOST_AUTO_TEST_SUITE(plan_ways)

BOOST_AUTO_TEST_CASE(both_ways_give_the_same_parameters) {
  for (topology at : {topology{}, topology{.tp = 2, .rank = 1}, topology{.tp = 2, .ep = 2, .rank = 1}}) {
    auto const one = make_plan(qwen(false).all, moe_config(), qwen_map, at, {}).value();
    auto const other = make_plan(qwen(true).all, moe_config(), qwen_map, at, {}).value();
    BOOST_TEST_REQUIRE(one.parameters.size() == other.parameters.size());
    for (std::size_t i = 0; i < one.parameters.size(); ++i) {
      auto const* q = other.find(one.parameters[i].name);
      BOOST_TEST_REQUIRE((q != nullptr), one.parameters[i].name);
      BOOST_TEST((q->shape == one.parameters[i].shape && q->layer == one.parameters[i].layer), q->name);
    }
    BOOST_TEST(one.needed.count == other.needed.count);  // other ranks' experts are not read
  }
}

BOOST_AUTO_TEST_CASE(a_rank_takes_its_rows_of_gate_and_of_up_from_each_of_its_experts) {
  auto const c = qwen(true);
  auto const p = make_plan(c.all, moe_config(), qwen_map, topology{.tp = 4, .ep = 2, .rank = 3}, {}).value();
  BOOST_TEST(shape_of(p, "model.layers.1.mlp.experts.w13_weight") == "[2, 6, 4]");  // the second block: experts 3 and 4
  BOOST_TEST(shape_of(p, "model.layers.1.mlp.experts.w2_weight") == "[2, 4, 3]");
  std::vector<u16> w13, w2;
  for (u64 expert : {3u, 4u}) {
    for (u64 row : {3u, 4u, 5u, 9u, 10u, 11u})
      for (u64 k = 0; k < 4; ++k)
        w13.push_back(element(c.all, "model.layers.1.mlp.experts.gate_up_proj", (expert * 12 + row) * 4 + k));
    for (u64 row = 0; row < 4; ++row)
      for (u64 k = 3; k < 6; ++k)
        w2.push_back(element(c.all, "model.layers.1.mlp.experts.down_proj", (expert * 4 + row) * 6 + k));
  }
  BOOST_TEST(run(p, "model.layers.1.mlp.experts.w13_weight") == w13, boost::test_tools::per_element());
  BOOST_TEST(run(p, "model.layers.1.mlp.experts.w2_weight") == w2, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_checkpoint_with_none_of_the_names_misses_those_of_the_first_way) {
  made_checkpoint c;
  for (auto const& t : qwen(true).all.tensors)
    if (!has(t.name, ".experts.")) c.add(t.name, t.shape);
  BOOST_TEST(has(failure(c, moe_config(), qwen_map), "model.layers.0.mlp.experts.0.gate_proj.weight"));
}

BOOST_AUTO_TEST_CASE(names_of_two_ways_in_one_checkpoint_are_an_error) {
  auto c = qwen(false);
  c.add("model.layers.1.mlp.experts.down_proj", {5, 4, 6});
  auto const message = failure(c, moe_config(), qwen_map);
  BOOST_TEST(has(message, "model.layers.1.mlp.experts.down_proj"));
  BOOST_TEST(has(message, "in another way"));
}

BOOST_AUTO_TEST_CASE(experts_in_one_tensor_have_the_shape_that_the_config_says) {
  made_checkpoint c;
  for (auto const& t : qwen(true).all.tensors) c.add(t.name, has(t.name, "gate_up_proj") ? shape{4, 12, 4} : t.shape);
  BOOST_TEST(has(failure(c, moe_config(), qwen_map), "expected shape [5, 12, 4] by config.json, found [4, 12, 4]"));
  BOOST_TEST(has(failure(qwen(true), moe_config(), qwen_map, {.tp = 8, .ep = 8}), "ep of at most 5"));
}

BOOST_AUTO_TEST_CASE(layers_that_the_config_excepts_have_no_experts) {
  std::string const text =
      R"({"hidden_size":4,"num_hidden_layers":4,"vocab_size":64,"num_experts":2,"num_attention_heads":4,
          "num_key_value_heads":2,"head_dim":2,"moe_intermediate_size":6,"intermediate_size":8,
          "decoder_sparse_step":2,"mlp_only_layers":[3]})";
  auto const config = model_config::parse(std::as_bytes(std::span{text})).value();
  made_checkpoint c;
  for (auto const& t : inventory_of(qwen_map, config).value()) c.add(t.name, t.shape);
  auto const p = make_plan(c.all, config, qwen_map, topology{.tp = 2}, {}).value();
  for (auto const* layer : {"0", "2", "3"})
    BOOST_TEST(shape_of(p, std::string{"model.layers."} + layer + ".mlp.gate_up_proj.weight") == "[8, 4]");
  BOOST_TEST(shape_of(p, "model.layers.1.mlp.gate_up_proj.weight") == "none");
  BOOST_TEST(shape_of(p, "model.layers.1.mlp.experts.w13_weight") == "[2, 6, 4]");
  BOOST_TEST(shape_of(p, "model.layers.3.mlp.experts.w13_weight") == "none");
  // where there are no such layers, what does not divide in them does not matter: 7 rows over 2 ranks
  auto const odd = model_config::of({{"hidden_size", 4},
                                     {"num_hidden_layers", 1},
                                     {"vocab_size", 64},
                                     {"num_experts", 2},
                                     {"num_attention_heads", 4},
                                     {"num_key_value_heads", 2},
                                     {"head_dim", 2},
                                     {"moe_intermediate_size", 6},
                                     {"intermediate_size", 7},
                                     {"tie_word_embeddings", 0},
                                     {"attention_bias", 0}});
  made_checkpoint d;
  for (auto const& t : inventory_of(qwen_map, odd).value()) d.add(t.name, t.shape);
  BOOST_TEST(shape_of(make_plan(d.all, odd, qwen_map, topology{.tp = 2}, {}).value(),
                      "model.layers.0.mlp.experts.w2_weight") == "[2, 4, 3]");
  c.add("model.layers.3.mlp.gate.weight", {2, 4});
  BOOST_TEST(has(failure(c, config, qwen_map), "model.layers.3.mlp.gate.weight"));
}

BOOST_AUTO_TEST_CASE(each_row_block_is_divided_by_itself) {
  made_checkpoint c;
  c.add("qkv.weight", {12, 4}), c.add("qkv.bias", {12});
  auto const config = model_config::of({{"hidden_size", 4}, {"num_attention_heads", 2}});
  auto const p = make_plan(c.all, config, blocks_map, topology{.tp = 2, .rank = 1}, {}).value();
  BOOST_TEST(shape_of(p, "qkv.weight") == "[6, 4]");
  std::vector<u16> weight, bias;
  for (u64 row : {2u, 3u, 6u, 7u, 10u, 11u}) {
    bias.push_back(element(c.all, "qkv.bias", row));
    for (u64 k = 0; k < 4; ++k) weight.push_back(element(c.all, "qkv.weight", row * 4 + k));
  }
  BOOST_TEST(run(p, "qkv.weight") == weight, boost::test_tools::per_element());
  BOOST_TEST(run(p, "qkv.bias") == bias, boost::test_tools::per_element());
  BOOST_TEST(has(make_plan(c.all, config, blocks_map, topology{.tp = 4}, {}).error().message(), "2 heads"));
}

BOOST_AUTO_TEST_CASE(names_with_a_prefix_give_the_parameters_without) {
  made_checkpoint plain, prefixed;
  for (auto const& t : inventory_of(bert_map, bert_config()).value())
    plain.add(t.name, t.shape), prefixed.add("bert." + t.name, t.shape);
  prefixed.add("bert.embeddings.position_ids", {1, 4}, dtype::int64), prefixed.add("cls.predictions.bias", {10});
  auto const one = make_plan(plain.all, bert_config(), bert_map, topology{.tp = 2}, {}).value();
  auto const other = make_plan(prefixed.all, bert_config(), bert_map, topology{.tp = 2}, {}).value();
  BOOST_TEST(one.parameters.size() == 17u);
  BOOST_TEST_REQUIRE(one.parameters.size() == other.parameters.size());
  for (auto const& q : one.parameters) BOOST_TEST(shape_of(other, q.name) == to_string(q.shape), q.name);
  BOOST_TEST(shape_of(one, "encoder.layer.0.attention.self.qkv.bias") == "[12]");
  BOOST_TEST(shape_of(one, "encoder.layer.0.attention.output.LayerNorm.weight") == "[8]");
}

BOOST_AUTO_TEST_SUITE_END()
