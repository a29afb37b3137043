/// What is not equal: stages of any layers, experts in the slots of any block, bytes that go to several places.
#include <penstock/arch/qwen3_moe.hpp>

#include <penstock/plan/inventory.hpp>

#include <boost/test/unit_test.hpp>

#include "made_of.hpp"

using namespace test;

namespace {
constexpr auto map = weight_map_of<arch::qwen3_moe>::view();
/// Three layers, the second without experts; three experts.
model_config config() {
  std::string const text =
      R"({"hidden_size":4,"num_hidden_layers":3,"vocab_size":64,"num_experts":3,"num_attention_heads":4,
          "num_key_value_heads":2,"head_dim":2,"moe_intermediate_size":6,"intermediate_size":8,"mlp_only_layers":[1]})";
  return model_config::parse(std::as_bytes(std::span{text})).value();
}
made_checkpoint stored() {
  made_checkpoint c;
  for (auto const& t : inventory_of(map, config()).value()) c.add(t.name, t.shape);
  return c;
}
result<plan> planned(topology const& at, plan_options const& o = {}) {
  return make_plan(stored().all, config(), map, at, o);
}
std::string failure(topology const& at) {
  auto const p = planned(at);
  return p ? "none" : p.error().message();
}
topology with_experts(u32 ep, u32 rank, std::vector<expert_table> tables) {
  topology t{.tp = ep, .ep = ep, .rank = rank};
  t.experts = std::move(tables);
  return t;
}
bool has(std::string const& s, std::string_view part) { return s.find(part) != s.npos; }
std::string experts_of(plan const& p, u32 layer) {
  auto const* q = p.find("model.layers." + std::to_string(layer) + ".mlp.experts.w2_weight");
  return q ? to_string(q->shape) : "none";
}
}  // namespace

BOOST_AUTO_TEST_SUITE(plan_layouts)

BOOST_AUTO_TEST_CASE(what_divides_a_model_otherwise_has_another_hash_and_the_ranks_of_one_way_have_one) {
  std::vector<topology> ways;
  for (auto const& stages : std::vector<std::vector<u32>>{{}, {1, 2}, {2, 1}}) {
    ways.push_back({.tp = 2, .ep = 2, .pp = 2});
    ways.back().stage_layers = stages;
  }
  for (auto const& blocks : std::vector<std::vector<std::vector<u32>>>{{{0}, {1, 2}}, {{0, 1}, {2, 1}}}) {
    ways.push_back({.tp = 2, .ep = 2, .pp = 2});
    ways.back().experts = {{{}, blocks}};
    ways.push_back(ways.back());
    ways.back().experts[0].layer = 0;
  }
  std::vector<u64> seen;
  for (auto& way : ways) {
    std::vector<u64> of_ranks;
    for (way.rank = 0; way.rank < 4; ++way.rank) of_ranks.push_back(planned(way).value().input_hash);
    for (auto const h : of_ranks) BOOST_TEST(h == of_ranks[0]);
    for (auto const h : seen) BOOST_TEST(h != of_ranks[0]);
    seen.push_back(of_ranks[0]);
  }
}

BOOST_AUTO_TEST_CASE(stages_have_the_layers_that_they_are_given) {
  for (u32 stage = 0; stage < 2; ++stage) {
    topology at{.pp = 2, .rank = stage};
    at.stage_layers = {1, 2};
    auto const p = planned(at).value();
    for (u32 layer = 0; layer < 3; ++layer)
      BOOST_TEST((p.find("model.layers." + std::to_string(layer) + ".input_layernorm.weight") != nullptr) ==
                 ((layer == 0) == (stage == 0)));
  }
  topology at{.pp = 2};
  for (auto const& wrong : std::vector<std::vector<u32>>{{1, 1}, {3, 1}, {3}, {3, 0}, {1, 1, 1}}) {
    at.stage_layers = wrong;
    auto const p = planned(at);
    BOOST_TEST_REQUIRE(!p);
    BOOST_TEST((p.error().kind() == error_kind::plan));
  }
  at.stage_layers = {1, 1};
  BOOST_TEST(has(failure(at), "stages of 3 layers together, which the model has, found 2"));
  at.stage_layers = {3, 0};
  BOOST_TEST(has(failure(at), "at least one layer for each of 2 pipeline stages"));
}

BOOST_AUTO_TEST_CASE(an_expert_that_has_two_slots_of_a_rank_is_read_once) {
  auto const c = stored();
  auto const once = make_plan(c.all, config(), map, with_experts(1, 0, {}), {}).value();
  auto const p = make_plan(c.all, config(), map, with_experts(1, 0, {{{}, {{2, 0, 1, 2, 2}}}}), {}).value();
  BOOST_TEST(p.needed.count == once.needed.count);
  BOOST_TEST(p.read.count == once.read.count);
  BOOST_TEST(p.requests == once.requests);
  BOOST_TEST(p.copies.size() > once.copies.size());
  std::vector<u16> want;
  for (auto const* expert : {"2", "0", "1", "2", "2"})
    for (u64 i = 0; i < 24; ++i)
      want.push_back(element(c.all, std::string{"model.layers.2.mlp.experts."} + expert + ".down_proj.weight", i));
  BOOST_TEST(run(p, "model.layers.2.mlp.experts.w2_weight") == want, boost::test_tools::per_element());
  // the same where rows are read one by one, and where slots are small
  for (u64 const gap : {0u, 4u}) {
    plan_options o;
    o.slot = bytes{512}, o.storage.gap = bytes{gap};
    auto at = with_experts(1, 0, {{{}, {{2, 0, 1, 2, 2}}}});
    at.groups[static_cast<unsigned>(rank_group::experts)] = group_place{3, 1};
    auto const rows = make_plan(c.all, config(), map, at, o).value();
    std::vector<u16> columns;
    for (std::size_t row = 0; row < want.size() / 6; ++row)
      for (std::size_t k = 2; k < 4; ++k) columns.push_back(want[row * 6 + k]);
    BOOST_TEST(run(rows, "model.layers.2.mlp.experts.w2_weight") == columns, boost::test_tools::per_element());
    if (!gap) BOOST_TEST(rows.read.count == rows.needed.count);
  }
}

BOOST_AUTO_TEST_CASE(a_layer_may_have_a_table_of_its_own) {
  std::vector<expert_table> const tables{{{}, {{0, 1}, {1, 2}}}, {2u, {{0, 1, 2, 1}, {1}}}};
  auto const p = planned(with_experts(2, 0, tables)).value(), q = planned(with_experts(2, 1, tables)).value();
  BOOST_TEST(experts_of(p, 0) == "[2, 4, 6]");
  BOOST_TEST(experts_of(p, 2) == "[4, 4, 6]");
  BOOST_TEST(experts_of(q, 2) == "[1, 4, 6]");
  BOOST_TEST(experts_of(planned(with_experts(2, 1, {tables[1]})).value(), 0) == "[1, 4, 6]");  // else equal blocks
}

BOOST_AUTO_TEST_CASE(tables_that_are_not_of_this_model) {
  auto const one = [](std::vector<std::vector<u32>> blocks) { return failure(with_experts(2, 0, {{2u, blocks}})); };
  BOOST_TEST(has(one({{0, 1, 2}}), "layer 2: expected one list of experts for each of ep 2 blocks"));
  BOOST_TEST(has(one({{0, 1, 2}, {}}), "at least one expert in each block, found none in block 1"));
  BOOST_TEST(has(one({{0, 1, 2}, {3}}), "experts below 3, found expert 3 in block 1"));
  BOOST_TEST(has(one({{0, 2}, {2}}), "each of 3 experts in some block, found expert 1 in none"));
  BOOST_TEST(one({{0, 2}, {1}}) == "none");
  std::vector<std::vector<u32>> const good{{0, 1}, {2}};
  BOOST_TEST(has(failure(with_experts(2, 0, {{1u, good}})), "a layer that has experts, found another for layer 1"));
  BOOST_TEST(has(failure(with_experts(2, 0, {{2u, good}, {2u, good}})), "found another for layer 2"));
  BOOST_TEST(has(failure(with_experts(2, 0, {{{}, good}, {{}, good}})), "found one more for all layers"));
}

BOOST_AUTO_TEST_SUITE_END()
