#include <boost/test/unit_test.hpp>
#include <string>

#include <penstock/arch/dims.hpp>
#include <penstock/arch/rules.hpp>

using namespace penstock;
using namespace penstock::arch;

namespace {
std::string claimed(rule const& r, std::string_view suffix = {}) {
  auto const s = name_of(r, suffix);
  return std::string{s.view()};
}
std::string written(rule const& r, std::string_view suffix = {}) {
  auto const s = target_of(r, suffix);
  return std::string{s.view()};
}
constexpr rule in_layers(dim lo, dim hi) { return each("layers.*", lo, hi, tensor("norm.weight", hidden)).list[0]; }
}  // namespace

BOOST_AUTO_TEST_SUITE(arch_rule)

BOOST_AUTO_TEST_CASE(a_rule_claims_its_path_and_the_suffix) {
  auto const r =
      under("language_model", each("model.layers.*", 0, layers, experts("mlp.experts.*", 8, linear("gate_proj", 4, 4))))
          .list[0];
  BOOST_TEST(claimed(r, ".weight") == "language_model.model.layers.*.mlp.experts.*.gate_proj.weight");
  BOOST_TEST(claimed(tensor("model.norm.weight", hidden)) == "model.norm.weight");
}

BOOST_AUTO_TEST_CASE(a_parameter_is_called_as_in_the_checkpoint) {
  BOOST_TEST(written(tensor("model.norm.weight", hidden)) == "model.norm.weight");
  BOOST_TEST(written(in_layers(0, layers)) == "layers.*.norm.weight");
}

BOOST_AUTO_TEST_CASE(a_parameter_may_have_a_name_of_its_own) {
  auto const r = each("layers.*", 0, layers, linear("wo", 4, 4).as("attn.proj")).list[0];
  BOOST_TEST(claimed(r, ".weight") == "layers.*.wo.weight");
  BOOST_TEST(written(r, ".weight") == "layers.*.attn.proj.weight");
}

BOOST_AUTO_TEST_CASE(stacked_experts_lose_their_scope_and_the_dot_of_the_suffix) {
  auto const r =
      each("layers.*", 0, layers, experts("mlp.experts.*", 8, linear("down_proj", 4, 4).as("mlp.experts.w2")));
  BOOST_TEST(written(r.list[0], ".weight_scale") == "layers.*.mlp.experts.w2_weight_scale");
  BOOST_TEST(written(r.list[0]) == "layers.*.mlp.experts.w2");
}

BOOST_AUTO_TEST_CASE(a_name_that_is_too_long_is_cut_and_its_length_says_so) {
  std::string const longest(159, 'x'), longer(400, 'x');
  BOOST_TEST(claimed(tensor(longest, 1)) == longest);
  auto const cut = name_of(tensor(longer, 1));
  BOOST_TEST(cut.length == cut.text.size());
}

BOOST_AUTO_TEST_CASE(a_change_makes_another_rule) {
  constexpr auto before = linear("q", heads * head_dim, hidden);
  constexpr auto after = before.by_heads(heads).bias().optional().in_model_dtype().stored_as(dtype::f32).when(tied);
  BOOST_TEST((before.how == split::whole && after.how == split::by_heads && after.heads == heads));
  BOOST_TEST((!before.has_bias && after.has_bias));
  BOOST_TEST((!before.may_be_absent && after.may_be_absent));
  BOOST_TEST((!before.as_numbers && after.as_numbers));
  BOOST_TEST((before.type == dtype::any_float && after.type == dtype::f32));
  BOOST_TEST((!before.conditional && after.conditional && after.only_if == tied));
  BOOST_TEST((after.n == before.n && after.k == before.k));
}

BOOST_AUTO_TEST_CASE(a_bias_that_never_is_is_none) {
  BOOST_TEST(!linear("q", 4, 4).bias(0).has_bias);
  BOOST_TEST(linear("q", 4, 4).bias(attention_bias).has_bias);
}

BOOST_AUTO_TEST_CASE(a_vocabulary_is_shared_by_the_ranks_of_the_vocabulary) {
  constexpr auto r = tensor("embed", vocab, hidden).by_vocab();
  BOOST_TEST((r.over == rank_group::vocab && r.how == split::by_vocab && r.vocab_unit == dim{64}));
}

BOOST_AUTO_TEST_CASE(a_flag_and_its_opposite_never_hold_together) {
  auto const both = tensor("head", vocab, hidden);
  BOOST_TEST(exclusive(both.when(tied), both.unless(tied)));
  BOOST_TEST(exclusive(both.unless(tied), both.when(tied)));
  BOOST_TEST(!exclusive(both.when(tied), both.when(tied)));
  BOOST_TEST(!exclusive(both.unless(tied), both.unless(tied)));
  BOOST_TEST(!exclusive(both.when(tied), both));
  BOOST_TEST(!exclusive(both.when(tied), both.unless(attention_bias)));
}

BOOST_AUTO_TEST_CASE(layers_that_do_not_meet_are_told_from_their_text) {
  constexpr dim dense{"first_k_dense_replace"};
  BOOST_TEST(exclusive(in_layers(0, dense), in_layers(dense, layers)));
  BOOST_TEST(exclusive(in_layers(dense, layers), in_layers(0, dense)));
  BOOST_TEST(exclusive(in_layers(0, 3), in_layers(3, layers)));
  BOOST_TEST(exclusive(in_layers(0, 3), in_layers(7, layers)));
  BOOST_TEST(!exclusive(in_layers(0, 4), in_layers(3, layers)));
  BOOST_TEST(!exclusive(in_layers(0, dense), in_layers(3, layers)));  // nobody knows
  BOOST_TEST(!exclusive(in_layers(0, layers), in_layers(0, layers)));
}

BOOST_AUTO_TEST_CASE(a_rule_without_layers_meets_every_layer) {
  BOOST_TEST(!exclusive(tensor("norm.weight", hidden), in_layers(0, layers)));
}

BOOST_AUTO_TEST_CASE(pieces_of_one_parameter_have_one_scope) {
  auto const a = in_layers(0, layers);
  BOOST_TEST(same_scope(a, a.as("other")));
  BOOST_TEST(!same_scope(a, in_layers(0, 3)));
  BOOST_TEST(!same_scope(a, a.when(tied)));
  BOOST_TEST(!same_scope(a, a.unless(tied)));
}

BOOST_AUTO_TEST_SUITE_END()
