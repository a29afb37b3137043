#include <penstock/plan/make_plan.hpp>

#include <penstock/arch/as_stored.hpp>

#include <algorithm>

#include <boost/test/unit_test.hpp>

#include "made_of.hpp"

using namespace test;

namespace {
result<plan> planned(llama_sizes const& z, u32 tp, u32 rank, plan_options const& o = {}) {
  auto const c = llama_checkpoint(z);
  return make_plan(c.all, config_of(z), llama_map, topology{.tp = tp, .rank = rank}, o);
}
bool has(std::string const& text, std::string_view part) { return text.find(part) != text.npos; }

/// An engine's own tables, small.
struct rows_padded_to_ranks {
  static constexpr std::string_view name = "rows_padded_to_ranks";
  static constexpr auto map = arch::rules(arch::tensor("embed.weight", arch::vocab, arch::hidden).by_vocab(0));
};
struct rows_that_must_divide {
  static constexpr std::string_view name = "rows_that_must_divide";
  static constexpr auto map = arch::rules(arch::tensor("embed.weight", arch::vocab, arch::hidden).by_out());
};
struct stacked_experts {
  static constexpr std::string_view name = "stacked_experts";
  static constexpr dim count{"num_experts"};
  static constexpr auto map =
      arch::rules(arch::experts("experts.*", count, arch::linear("w", arch::hidden, arch::hidden).as("experts.w")));
};
}  // namespace

BOOST_AUTO_TEST_SUITE(plan_make_plan)

BOOST_AUTO_TEST_CASE(fused_parameters_are_row_blocks_in_the_order_of_the_map) {
  llama_sizes const z;
  auto const c = llama_checkpoint(z);
  auto const p = planned(z, 2, 1).value();
  auto const* qkv = p.find("model.layers.1.self_attn.qkv_proj.weight");
  BOOST_TEST_REQUIRE(qkv);
  BOOST_TEST((qkv->shape == shape{16 + 4 + 4, 16}));
  auto const got = run(p, qkv->name);
  for (u64 row = 0; row < 24; ++row)
    for (u64 col = 0; col < 16; ++col) {
      auto const want = row < 16 ? element(c.all, "model.layers.1.self_attn.q_proj.weight", (16 + row) * 16 + col)
                        : row < 20
                            ? element(c.all, "model.layers.1.self_attn.k_proj.weight", (4 + row - 16) * 16 + col)
                            : element(c.all, "model.layers.1.self_attn.v_proj.weight", (4 + row - 20) * 16 + col);
      BOOST_TEST_REQUIRE(got[row * 16 + col] == want);
    }
}

BOOST_AUTO_TEST_CASE(row_parallel_linears_take_their_columns) {
  llama_sizes const z;
  auto const c = llama_checkpoint(z);
  auto const p = planned(z, 2, 1).value();
  auto const got = run(p, "model.layers.0.mlp.down_proj.weight");
  BOOST_TEST_REQUIRE(got.size() == 16u * 12);
  for (u64 row = 0; row < 16; ++row)
    for (u64 col = 0; col < 12; ++col)
      BOOST_TEST_REQUIRE(got[row * 12 + col] ==
                         element(c.all, "model.layers.0.mlp.down_proj.weight", row * 24 + 12 + col));
}

// Case H13: 8 query heads, 2 KV heads of 4, 8 ranks.
BOOST_AUTO_TEST_CASE(a_kv_head_goes_to_neighbouring_ranks_where_there_are_more_ranks_than_heads) {
  llama_sizes z;
  z.attention_bias = true;
  auto const c = llama_checkpoint(z);
  for (u32 r = 0; r < 8; ++r) {
    auto const p = planned(z, 8, r).value();
    auto const weight = run(p, "model.layers.0.self_attn.qkv_proj.weight");
    auto const bias = run(p, "model.layers.0.self_attn.qkv_proj.bias");
    BOOST_TEST_REQUIRE(bias.size() == 12u);
    for (u64 row = 0; row < 4; ++row) {
      BOOST_TEST(weight[row * 16] == element(c.all, "model.layers.0.self_attn.q_proj.weight", (4 * r + row) * 16));
      BOOST_TEST(weight[(4 + row) * 16] ==
                 element(c.all, "model.layers.0.self_attn.k_proj.weight", (4 * (r / 4) + row) * 16));
      BOOST_TEST(bias[row] == element(c.all, "model.layers.0.self_attn.q_proj.bias", 4 * r + row));
      BOOST_TEST(bias[4 + row] == element(c.all, "model.layers.0.self_attn.k_proj.bias", 4 * (r / 4) + row));
      BOOST_TEST(bias[8 + row] == element(c.all, "model.layers.0.self_attn.v_proj.bias", 4 * (r / 4) + row));
    }
  }
}
BOOST_AUTO_TEST_CASE(heads_that_do_not_divide_are_an_error_with_both_numbers) {
  llama_sizes wide;
  wide.vocab = 190;  // 192 padded rows divide over 3 ranks
  auto const three = planned(wide, 3, 0);
  BOOST_TEST_REQUIRE(!three);
  BOOST_TEST((three.error().kind() == error_kind::plan));
  BOOST_TEST(has(three.error().message(), "8 heads"));
  BOOST_TEST(has(three.error().message(), "3 ranks"));
  llama_sizes z;
  z.kv_heads = 3;
  auto const eight = planned(z, 8, 0);
  BOOST_TEST_REQUIRE(!eight);
  BOOST_TEST((eight.error().kind() == error_kind::plan));
  BOOST_TEST(has(eight.error().message(), "3 KV heads"));
  BOOST_TEST(has(eight.error().message(), "8 ranks"));
  BOOST_TEST(has(eight.error().message(), "for the whole model a tp of these would do: 1"));
}

// Case H16: 10 rows over 4 ranks.
BOOST_AUTO_TEST_CASE(a_vocabulary_is_padded_with_zeros_or_refused_and_never_dropped) {
  made_checkpoint c;
  c.add("embed.weight", {10, 2});
  auto const config = model_config::of({{"vocab_size", 10}, {"hidden_size", 2}});
  for (u32 r = 0; r < 4; ++r) {
    auto const p =
        make_plan(c.all, config, weight_map_of<rows_padded_to_ranks>::view(), topology{.tp = 4, .rank = r}).value();
    auto const got = run(p, "embed.weight");
    BOOST_TEST_REQUIRE(got.size() == 6u);
    for (u64 e = 0; e < 6; ++e)
      BOOST_TEST(got[e] == (3 * r + e / 2 < 10 ? element(c.all, "embed.weight", 6 * r + e) : 0));
  }
  llama_sizes z;
  z.kv_heads = 4;
  for (u32 r = 0; r < 4; ++r) {
    auto const p = planned(z, 4, r).value();
    auto const got = run(p, "model.embed_tokens.weight");
    BOOST_TEST_REQUIRE(got.size() == 16u * 16);
    auto const whole = llama_checkpoint(z);
    for (u64 e = 0; e < got.size(); ++e)
      BOOST_TEST_REQUIRE(got[e] == (r == 0 && e < 160 ? element(whole.all, "model.embed_tokens.weight", e) : 0));
  }
  auto const refused =
      make_plan(c.all, config, weight_map_of<rows_that_must_divide>::view(), topology{.tp = 4, .rank = 0});
  BOOST_TEST_REQUIRE(!refused);
  BOOST_TEST((refused.error().kind() == error_kind::plan));
  BOOST_TEST(has(refused.error().message(), "10 rows"));
  BOOST_TEST(has(refused.error().message(), "4 ranks"));
}

// Case H12.
BOOST_AUTO_TEST_CASE(a_tied_head_is_the_embedding_and_a_stored_copy_is_not_read) {
  llama_sizes z;
  z.tied = true;
  auto c = llama_checkpoint(z);
  auto const without = make_plan(c.all, config_of(z), llama_map, topology{}).value();
  BOOST_TEST(without.find("lm_head.weight") == without.find("model.embed_tokens.weight"));
  c.add("lm_head.weight", {z.vocab, z.hidden});
  auto const with = make_plan(c.all, config_of(z), llama_map, topology{}).value();
  BOOST_TEST(with.find("lm_head.weight") == with.find("model.embed_tokens.weight"));
  BOOST_TEST(with.needed.count == without.needed.count);
  BOOST_TEST(with.read.count == without.read.count);
}

// Case H17.
BOOST_AUTO_TEST_CASE(every_expert_has_one_owner) {
  made_checkpoint c;
  for (int e = 0; e < 7; ++e) c.add("experts." + std::to_string(e) + ".w.weight", {2, 2});
  auto const config = model_config::of({{"num_experts", 7}, {"hidden_size", 2}});
  auto const map = weight_map_of<stacked_experts>::view();
  u64 const sizes[] = {3, 2, 2}, first[] = {0, 3, 5};
  for (u32 r = 0; r < 3; ++r) {
    auto const p = make_plan(c.all, config, map, topology{.tp = 3, .ep = 3, .rank = r}).value();
    auto const* w = p.find("experts.w_weight");
    BOOST_TEST_REQUIRE(w);
    BOOST_TEST((w->shape == shape{sizes[r], 2, 2}));
    auto const got = run(p, "experts.w_weight");
    for (u64 e = 0; e < got.size(); ++e)
      BOOST_TEST(got[e] == element(c.all, "experts." + std::to_string(first[r] + e / 4) + ".w.weight", e % 4));
  }
  auto const idle = make_plan(c.all, config, map, topology{.tp = 8, .ep = 8, .rank = 7});
  BOOST_TEST_REQUIRE(!idle);  // a rank without any expert has nothing to compute with
  BOOST_TEST((idle.error().kind() == error_kind::plan));
}

BOOST_AUTO_TEST_CASE(an_unknown_tensor_is_an_error_with_the_nearest_known_name) {
  auto c = llama_checkpoint({});
  c.add("model.layers.1.self_attn.q_porj.weight", {32, 16});
  auto const p = make_plan(c.all, config_of({}), llama_map, topology{});
  BOOST_TEST_REQUIRE(!p);
  BOOST_TEST((p.error().kind() == error_kind::plan));
  BOOST_TEST(has(p.error().message(), "\"model.layers.1.self_attn.q_porj.weight\""));
  BOOST_TEST(has(p.error().message(), "\"model.layers.1.self_attn.q_proj.weight\""));
  BOOST_TEST(p.error().where().tensor == "model.layers.1.self_attn.q_porj.weight");
}
BOOST_AUTO_TEST_CASE(a_layer_past_the_end_is_unknown) {
  auto c = llama_checkpoint({});
  c.add("model.layers.2.input_layernorm.weight", {16});
  BOOST_TEST((make_plan(c.all, config_of({}), llama_map, topology{}).error().kind() == error_kind::plan));
}
BOOST_AUTO_TEST_CASE(missing_tensors_are_counted_and_named) {
  auto c = llama_checkpoint({});
  std::erase_if(c.all.tensors, [](auto const& t) { return t.name.ends_with("up_proj.weight"); });
  auto const p = make_plan(c.all, config_of({}), llama_map, topology{});
  BOOST_TEST_REQUIRE(!p);
  BOOST_TEST((p.error().kind() == error_kind::plan));
  BOOST_TEST(has(p.error().message(), "2 more"));
  BOOST_TEST(has(p.error().message(), "\"model.layers.0.mlp.up_proj.weight\""));
  BOOST_TEST(has(p.error().message(), "\"model.layers.1.mlp.up_proj.weight\""));
}
BOOST_AUTO_TEST_CASE(a_config_of_a_million_layers_ends_in_an_error_at_once) {
  llama_sizes z;
  auto const c = llama_checkpoint(z);
  z.layers = 999'999;
  auto const p = make_plan(c.all, config_of(z), llama_map, topology{});
  BOOST_TEST_REQUIRE(!p);
  BOOST_TEST((p.error().kind() == error_kind::plan));
  z.layers = ~u64{};
  BOOST_TEST((make_plan(c.all, config_of(z), llama_map, topology{}).error().kind() == error_kind::config));
}
BOOST_AUTO_TEST_CASE(a_shape_that_contradicts_the_config_is_a_config_error_with_both) {
  llama_sizes z;
  auto const c = llama_checkpoint(z);
  z.intermediate = 32;
  auto const p = make_plan(c.all, config_of(z), llama_map, topology{});
  BOOST_TEST_REQUIRE(!p);
  BOOST_TEST((p.error().kind() == error_kind::config));
  BOOST_TEST(has(p.error().message(), "[16, 32]"));
  BOOST_TEST(has(p.error().message(), "[16, 24]"));
}
BOOST_AUTO_TEST_CASE(quantised_payload_under_the_scheme_none_is_refused) {
  llama_sizes const z;
  auto c = llama_checkpoint(z);
  for (auto& t : c.all.tensors)
    if (t.name.ends_with("q_proj.weight")) t.type = dtype::f8_e4m3;
  auto const p = make_plan(c.all, config_of(z), llama_map, topology{});
  BOOST_TEST_REQUIRE(!p);
  BOOST_TEST((p.error().kind() == error_kind::config));
  BOOST_TEST(has(p.error().message(), "F8_E4M3"));
}
BOOST_AUTO_TEST_CASE(pieces_of_one_parameter_agree_in_dtype_and_layers_may_differ) {
  llama_sizes const z;
  made_checkpoint mixed;
  auto const plain = llama_checkpoint(z);
  for (auto const& t : plain.all.tensors)
    mixed.add(t.name, t.shape, t.name.starts_with("model.layers.1.") ? dtype::f32 : t.type);
  auto const p = make_plan(mixed.all, config_of(z), llama_map, topology{}).value();
  BOOST_TEST((p.find("model.layers.0.mlp.gate_up_proj.weight")->type == dtype::bf16));
  BOOST_TEST((p.find("model.layers.1.mlp.gate_up_proj.weight")->type == dtype::f32));
  made_checkpoint torn;
  for (auto const& t : plain.all.tensors)
    torn.add(t.name, t.shape, t.name.ends_with("up_proj.weight") ? dtype::f16 : t.type);
  auto const bad = make_plan(torn.all, config_of(z), llama_map, topology{});
  BOOST_TEST_REQUIRE(!bad);
  BOOST_TEST(has(bad.error().message(), "gate_proj"));
  BOOST_TEST(has(bad.error().message(), "up_proj"));
}
BOOST_AUTO_TEST_CASE(a_number_that_config_json_lacks_is_named) {
  auto const p = make_plan(llama_checkpoint({}).all, model_config{}, llama_map, topology{});
  BOOST_TEST_REQUIRE(!p);
  BOOST_TEST((p.error().kind() == error_kind::config));
  BOOST_TEST(has(p.error().message(), "\"vocab_size\""));
}
BOOST_AUTO_TEST_CASE(buffers_of_old_exports_are_known_and_not_read) {
  auto c = llama_checkpoint({});
  auto const before = make_plan(c.all, config_of({}), llama_map, topology{}).value();
  c.add("model.layers.0.self_attn.rotary_emb.inv_freq", {2}, dtype::f32);
  auto const after = make_plan(c.all, config_of({}), llama_map, topology{}).value();
  BOOST_TEST(after.needed.count == before.needed.count);
}

BOOST_AUTO_TEST_CASE(plans_are_equal_for_equal_inputs_and_ranks_share_the_input_hash) {
  auto const a = planned({}, 2, 0).value(), b = planned({}, 2, 0).value(), other = planned({}, 2, 1).value();
  BOOST_TEST(a.reads.size() == b.reads.size());
  for (std::size_t i = 0; i < a.reads.size(); ++i) BOOST_TEST_REQUIRE(a.reads[i].first == b.reads[i].first);
  BOOST_TEST(a.input_hash == other.input_hash);
  BOOST_TEST(planned({}, 1, 0).value().input_hash != a.input_hash);
  auto c = llama_checkpoint({});
  c.all.shards[0].version = "v2";
  BOOST_TEST(make_plan(c.all, config_of({}), llama_map, topology{.tp = 2, .rank = 0}).value().input_hash !=
             a.input_hash);
}
BOOST_AUTO_TEST_CASE(every_slot_size_gives_the_same_parameters) {
  llama_sizes const z;
  for (u64 slot : {512u, 600u, 1000u, 4096u, 1u << 20}) {
    plan_options o;
    o.slot = bytes{slot};
    for (u64 gap : {0u, 7u, 64u, 4096u}) {
      o.storage.gap = bytes{gap};
      for (u32 r = 0; r < 2; ++r) {
        auto const p = planned(z, 2, r, o).value(), whole = planned(z, 2, r).value();
        for (auto const& q : p.parameters) BOOST_TEST_REQUIRE((run(p, q.name) == run(whole, q.name)));
        for (auto const& read : p.reads) BOOST_TEST_REQUIRE(read.size <= slot);
        BOOST_TEST(p.needed.count == whole.needed.count);
        BOOST_TEST(p.read.count == p.needed.count + p.discarded.count);
      }
    }
  }
}
BOOST_AUTO_TEST_CASE(a_topology_that_cannot_be_is_an_error) {
  auto const c = llama_checkpoint({});
  for (auto const& at : {topology{.tp = 0}, topology{.tp = 4, .ep = 3}, topology{.tp = 2, .rank = 2}, topology{.pp = 3},
                         topology{.pp = 2, .stage_layers = {1, 3}}, topology{.pp = 2, .stage_layers = {2}}})
    BOOST_TEST((make_plan(c.all, config_of({}), llama_map, at).error().kind() == error_kind::plan));
}

BOOST_AUTO_TEST_CASE(ranks_begin_with_different_objects_and_read_the_same) {
  llama_sizes const z{.layers = 4};
  auto c = llama_checkpoint(z);
  for (u32 i = 1; i < 4; ++i)
    c.all.shards.push_back({"model" + std::to_string(i) + ".safetensors", bytes{1 << 20}, "v1"});
  for (std::size_t i = 0; i < c.all.tensors.size(); ++i)
    c.all.tensors[i].shard = object_id{static_cast<u32>(4 * i / c.all.tensors.size())};
  for (u32 rank = 0; rank < 2; ++rank) {
    auto const p = make_plan(c.all, config_of(z), llama_map, topology{.tp = 2, .rank = rank}).value();
    auto const in_order =
        make_plan(c.all, config_of(z), llama_map, topology{.tp = 2, .rank = rank}, {.rotate = false}).value();
    BOOST_TEST(index_of(p.reads.front().object) == 2 * rank);
    BOOST_TEST(index_of(in_order.reads.front().object) == 0u);
    BOOST_TEST((p.reads.back().object == no_object) == (in_order.reads.back().object == no_object));
    auto const start = [](auto const& r) { return std::pair{r.object, r.first}; };
    auto sorted = p.reads;
    std::sort(sorted.begin(), sorted.end(), [&](auto const& x, auto const& y) { return start(x) < start(y); });
    BOOST_TEST_REQUIRE(sorted.size() == in_order.reads.size());
    for (std::size_t i = 0; i < sorted.size(); ++i) BOOST_TEST((start(sorted[i]) == start(in_order.reads[i])));
    BOOST_TEST(p.needed.count == in_order.needed.count);
  }
}

BOOST_AUTO_TEST_CASE(a_plan_is_priced_by_the_stated_bandwidths) {
  llama_sizes const z;
  auto const c = llama_checkpoint(z);
  plan_options slow, slower;
  slow.storage = {.gap = bytes{1000}, .bandwidth = bytes{1'000'000}, .lanes = 2, .depth = 3, .transport_per_read = {}};
  slower.storage = slow.storage, slower.storage.bandwidth = bytes{500'000};
  auto const p = make_plan(c.all, config_of(z), llama_map, topology{}, slow).value();
  double const passing = static_cast<double>(p.read.count + 1000 * p.requests);
  BOOST_TEST(p.price.read == passing / 1e6 / 6, boost::test_tools::tolerance(1e-9));
  BOOST_TEST(p.price.copy > 0);
  auto const q = make_plan(c.all, config_of(z), llama_map, topology{}, slower).value();
  BOOST_TEST(q.price.read == 2 * p.price.read, boost::test_tools::tolerance(1e-9));
}

BOOST_AUTO_TEST_CASE(stages_share_the_parameters_and_a_tied_head_is_on_the_last_too) {
  for (bool const tied : {false, true}) {
    llama_sizes const z{.layers = 5, .tied = tied};
    auto const c = llama_checkpoint(z);
    auto const whole = make_plan(c.all, config_of(z), llama_map, topology{}).value();
    std::vector<std::string> names;
    bytes needed;
    for (u32 stage = 0; stage < 3; ++stage) {
      auto const p = make_plan(c.all, config_of(z), llama_map, topology{.pp = 3, .rank = stage}).value();
      BOOST_TEST(p.layers == whole.layers);
      BOOST_TEST(p.aliases.empty());
      BOOST_TEST((p.find("model.embed_tokens.weight") != nullptr) == (stage == 0));
      BOOST_TEST((p.find("model.norm.weight") != nullptr) == (stage == 2));
      BOOST_TEST((p.find("lm_head.weight") != nullptr) == (stage == 2));
      BOOST_TEST((p.find("model.layers.2.self_attn.qkv_proj.weight") != nullptr) == (stage == 1));
      for (auto const& q : p.parameters) {
        names.push_back(q.name);
        if (auto const* same = whole.find(q.name)) BOOST_TEST((same->shape == q.shape));
      }
      needed += p.needed;
    }
    BOOST_TEST(names.size() == whole.parameters.size() + tied);
    std::sort(names.begin(), names.end());
    BOOST_TEST((std::adjacent_find(names.begin(), names.end()) == names.end()));
    auto const head = whole.find("model.embed_tokens.weight")->size;
    BOOST_TEST((needed - (tied ? bytes{z.vocab * z.hidden * 2} : bytes{})).count == whole.needed.count);
    BOOST_TEST(head.count >= z.vocab * z.hidden * 2);
  }
  llama_sizes const z{.layers = 4};
  auto const c = llama_checkpoint(z);
  topology const uneven{.pp = 2, .rank = 1, .stage_layers = {1, 3}};
  auto const p = make_plan(c.all, config_of(z), llama_map, uneven).value();
  BOOST_TEST((p.find("model.layers.0.self_attn.qkv_proj.weight") == nullptr));
  BOOST_TEST((p.find("model.layers.1.self_attn.qkv_proj.weight") != nullptr));
}

BOOST_AUTO_TEST_CASE(as_stored_takes_every_tensor_whole_on_every_rank) {
  made_checkpoint c;
  c.add("b", {3}, dtype::int16);
  c.add("empty", {0, 4}, dtype::f16);
  c.add("scalar", {}, dtype::f16);
  for (u32 r = 0; r < 2; ++r) {
    auto const p =
        make_plan(c.all, model_config{}, weight_map_of<arch::as_stored>::view(), topology{.tp = 2, .rank = r}).value();
    BOOST_TEST(p.parameters.size() == 3u);
    BOOST_TEST(p.find("empty")->pieces == 0u);
    BOOST_TEST(
        (run(p, "b") == std::vector<u16>{element(c.all, "b", 0), element(c.all, "b", 1), element(c.all, "b", 2)}));
    BOOST_TEST((run(p, "scalar") == std::vector<u16>{element(c.all, "scalar", 0)}));
  }
}
BOOST_AUTO_TEST_SUITE_END()
