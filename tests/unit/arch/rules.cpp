#include <boost/test/unit_test.hpp>
#include <string>
#include <string_view>

#include <penstock/arch/dims.hpp>
#include <penstock/arch/rules.hpp>

using namespace penstock;
using namespace penstock::arch;

namespace {
constexpr auto attention = rules(linear("q_proj", hidden, hidden), linear("o_proj", hidden, hidden));
constexpr auto base = rules(tensor("norm.weight", hidden), each("layers.*", 0, layers, attention));
constexpr dim dense{"first_k_dense_replace"};
}  // namespace

BOOST_AUTO_TEST_SUITE(arch_rules)

BOOST_AUTO_TEST_CASE(rules_and_groups_stand_in_the_order_in_which_they_are_written) {
  constexpr auto all = rules(tensor("first", 1), attention, rules(tensor("last", 1)));
  std::string order;
  for (auto const& r : all.list) order += std::string{r.path[3]} + " ";
  BOOST_TEST(order == "first q_proj o_proj last ");
}

BOOST_AUTO_TEST_CASE(a_tensor_has_one_to_three_dimensions) {
  constexpr auto one = tensor("a", 5), two = tensor("a", 5, 6), three = tensor("a", 5, 6, 7);
  BOOST_TEST((one.rank == 1 && one.n == dim{5} && one.k == dim{1} && one.inner == dim{1}));
  BOOST_TEST((two.rank == 2 && two.n == dim{5} && two.k == dim{6} && two.inner == dim{1}));
  BOOST_TEST((three.rank == 3 && three.n == dim{5} && three.k == dim{6} && three.inner == dim{7}));
}

BOOST_AUTO_TEST_CASE(a_plain_linear_is_never_quantised) {
  BOOST_TEST((plain("a", 1, 1).what == rule::linear && plain("a", 1, 1).never_quantised));
  BOOST_TEST((linear("a", 1, 1).what == rule::linear && !linear("a", 1, 1).never_quantised));
  BOOST_TEST((tensor("a", 1, 1).what == rule::tensor));
}

BOOST_AUTO_TEST_CASE(a_rule_knows_where_it_was_written) {
  constexpr auto r = linear("a", 1, 1);
  BOOST_TEST(r.line == __LINE__ - 1u);
  BOOST_TEST(std::string_view{r.file}.ends_with("arch/rules.cpp"));
}

BOOST_AUTO_TEST_CASE(a_skipped_tensor_may_be_there_and_a_tied_one_means_another) {
  constexpr auto skipped_one = skip("cos");
  BOOST_TEST((skipped_one.ignored && skipped_one.may_be_absent && !skipped_one.live() && skipped_one.tied_to.empty()));
  constexpr auto tied_one = tie("head", "embed").when(tied);
  BOOST_TEST((tied_one.ignored && tied_one.may_be_absent && tied_one.tied_to == "embed" && tied_one.conditional));
}

BOOST_AUTO_TEST_CASE(what_is_skipped_is_known_and_not_wanted) {
  constexpr auto all = skipped(base);
  for (auto const& r : all.list) BOOST_TEST((r.ignored && !r.live()));
  BOOST_TEST(base.list[0].live());
}

BOOST_AUTO_TEST_CASE(a_fused_parameter_has_its_pieces_in_order) {
  constexpr auto qkv = fuse("qkv", linear("q", 1, 1), linear("k", 1, 1), linear("v", 1, 1));
  for (unsigned i = 0; i < 3; ++i) {
    BOOST_TEST(int{qkv.list[i].piece} == static_cast<int>(i));
    BOOST_TEST(int{qkv.list[i].pieces} == 3);
    BOOST_TEST(qkv.list[i].to[2] == "qkv");
  }
}

BOOST_AUTO_TEST_CASE(each_gives_the_range_of_its_star_to_all_rules_inside) {
  constexpr auto all = each("layers.*", dense, layers, attention);
  for (auto const& r : all.list) {
    BOOST_TEST(r.path[1] == "layers.*");
    BOOST_TEST(r.to[1] == "layers.*");
    BOOST_TEST((r.each[0] == bound{dense, layers}));
  }
}

BOOST_AUTO_TEST_CASE(experts_are_stacked_and_shared_by_the_ranks_of_experts) {
  constexpr dim count{"num_experts"};
  constexpr auto all = each("layers.*", 0, layers, experts("mlp.experts.*", count, attention));
  for (auto const& r : all.list) {
    BOOST_TEST((r.path[2] == "mlp.experts.*" && r.to[1] == "layers.*"));
    BOOST_TEST((r.each[1] == bound{0, count} && r.each[0] == bound{0, layers}));
    BOOST_TEST((r.stacked && r.over == rank_group::experts));
  }
}

BOOST_AUTO_TEST_CASE(a_group_of_ranks_is_given_to_all_rules_inside) {
  for (auto const& r : shared_by(rank_group::vision, attention).list) BOOST_TEST((r.over == rank_group::vision));
  BOOST_TEST((attention.list[0].over == rank_group::dense));
}

BOOST_AUTO_TEST_CASE(a_prefix_stands_before_names_and_parameters) {
  constexpr auto all = under("language_model", base);
  for (auto const& r : all.list) BOOST_TEST((r.path[0] == "language_model" && r.to[0] == "language_model"));
}

BOOST_AUTO_TEST_CASE(an_override_takes_the_place_of_what_claims_the_same_name) {
  constexpr auto map = override_rules(base, each("layers.*", 0, layers, linear("o_proj", hidden, hidden).by_in()));
  BOOST_TEST((map.list[0].what == rule::tensor && map.list[1].what == rule::linear));
  BOOST_TEST((map.list[2].what == rule::removed && !map.list[2].live()));
  BOOST_TEST((map.list[3].what == rule::linear && map.list[3].how == split::by_in && !map.list[3].orphan));
}

BOOST_AUTO_TEST_CASE(an_override_of_nothing_is_marked) {
  constexpr auto typo = override_rules(base, each("layers.*", 0, layers, linear("o_porj", hidden, hidden)));
  BOOST_TEST(typo.list[3].orphan);
  constexpr auto no_layers = override_rules(base, linear("o_proj", hidden, hidden));
  BOOST_TEST(no_layers.list[3].orphan);
  constexpr auto other_kind = override_rules(base, each("layers.*", 0, layers, tensor("o_proj", hidden, hidden)));
  BOOST_TEST(other_kind.list[3].orphan);
}

BOOST_AUTO_TEST_CASE(an_override_for_other_layers_replaces_nothing) {
  constexpr auto first = each("layers.*", 0, dense, attention);
  constexpr auto map = override_rules(first, each("layers.*", dense, layers, linear("o_proj", hidden, hidden)));
  BOOST_TEST(map.list[2].orphan);
  BOOST_TEST((map.list[1].what == rule::linear));
}

BOOST_AUTO_TEST_CASE(what_was_replaced_is_not_replaced_again) {
  constexpr auto once = override_rules(base, tensor("norm.weight", 1));
  constexpr auto twice = override_rules(once, tensor("norm.weight", 2));
  unsigned live = 0;
  for (auto const& r : twice.list) live += r.live() && r.path[3] == "norm.weight";
  BOOST_TEST(live == 1u);
  BOOST_TEST((twice.list[4].n == dim{2} && !twice.list[4].orphan));
}

BOOST_AUTO_TEST_CASE(a_module_of_numbers_has_one_dimension_and_no_scheme) {
  constexpr auto norm = plain("norm", hidden).bias();
  BOOST_TEST((norm.what == rule::linear && norm.rank == 1 && norm.never_quantised && norm.has_bias));
}

BOOST_AUTO_TEST_CASE(experts_in_one_tensor_are_stacked_without_a_number_in_the_name) {
  constexpr auto all = experts_in_one(dim{"num_experts"}, attention);
  for (auto const& r : all.list)
    BOOST_TEST((r.stacked && r.slices == dim{"num_experts"} && r.path[2].empty() && r.over == rank_group::experts));
}

BOOST_AUTO_TEST_CASE(ways_of_one_choice_exclude_each_other) {
  constexpr auto two = either(rules(tensor("a", 1), tensor("b", 1)), tensor("c", 1));
  constexpr auto again = either(tensor("a", 1), tensor("d", 1)), other = either(tensor("x", 1), tensor("d", 1));
  auto const &a = two.list[0], &b = two.list[1], &c = two.list[2];
  BOOST_TEST((!exclusive(a, b) && exclusive(a, c) && exclusive(c, b)));
  BOOST_TEST((exclusive(a, again.list[1]) && !exclusive(a, other.list[1])));
  BOOST_TEST((same_scope(a, b) && !same_scope(a, c)));
}

BOOST_AUTO_TEST_CASE(what_replaces_a_way_stands_in_its_place) {
  constexpr auto map = override_rules(either(tensor("a", 1), tensor("b", 1)), tensor("b", 2));
  BOOST_TEST((map.list[1].what == rule::removed && map.list[2].choice == map.list[0].choice));
  BOOST_TEST(exclusive(map.list[0], map.list[2]));
}

BOOST_AUTO_TEST_CASE(a_prefix_of_the_file_alone_leaves_the_parameters_names) {
  for (auto const& r : stored_under("bert", base).list) BOOST_TEST((r.path[0] == "bert" && r.to[0].empty()));
}

BOOST_AUTO_TEST_CASE(the_identity_has_no_rules) { BOOST_TEST(identity_map{}.list.empty()); }

BOOST_AUTO_TEST_SUITE_END()
