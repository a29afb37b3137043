#include <boost/test/unit_test.hpp>
#include <string>

#include <penstock/arch/dims.hpp>
#include <penstock/arch/llama.hpp>
#include <penstock/arch/table.hpp>
#include <penstock/quant/none.hpp>

using namespace penstock;
using namespace penstock::arch;

namespace {
struct packed {  // several parts, one of them called as none's
  static constexpr auto linear =
      quant::linear_is(quant::payload(".weight_packed", dtype::int32, quant::out, quant::in / 8),
                       quant::scale(".weight_scale", dtype::bf16, quant::out, quant::in / 128),
                       quant::note(".weight", dtype::any_float));
};

#define MAP_OF(NAME, ...)                      \
  struct NAME {                                \
    static constexpr auto map = (__VA_ARGS__); \
  };                                           \
  using table_of_##NAME = compiled_map<NAME, quant::none>

constexpr dim dense{"first_k_dense_replace"}, experts_of_a_layer{"num_experts"};
constexpr auto norm = tensor("norm.weight", hidden);

MAP_OF(nothing_wrong, rules(norm, each("layers.*", 0, layers, norm, linear("proj", hidden, hidden).bias())));
MAP_OF(claimed_twice, rules(tensor("a", 1), norm, tensor("b", 1), norm.as("other")));
MAP_OF(claimed_by_the_bias, rules(linear("proj", 1, 1).bias(), tensor("proj.bias", 1)));
MAP_OF(claimed_by_a_range, rules(each("h.*", 0, layers, norm), tensor("h.3.norm.weight", hidden).as("third")));
MAP_OF(claimed_by_overlapping_layers, rules(each("h.*", 0, 4, norm), each("h.*", 3, layers, norm.as("late"))));
MAP_OF(layers_that_do_not_meet, rules(each("h.*", 0, dense, norm), each("h.*", dense, layers, norm.as("late"))));
MAP_OF(conditions_that_do_not_meet, rules(norm.when(tied), norm.unless(tied).as("other")));
MAP_OF(other_numbers, rules(plain("proj.0", 1, 1), plain("proj.2", 1, 1)));
MAP_OF(claimed_and_skipped, rules(norm, skip("norm.weight")));
MAP_OF(replaced, override_rules(rules(norm), norm.as("other")));
MAP_OF(replaces_nothing, override_rules(rules(norm), tensor("nrom.weight", hidden)));
MAP_OF(tensor_name_for_a_linear, rules(norm, linear("proj.weight", 1, 1)));
MAP_OF(tensor_called_weight, rules(tensor("proj.weight", 1, 1)));
MAP_OF(star_without_each, rules(norm, tensor("h.*.norm.weight", 1)));
MAP_OF(star_in_a_prefix, under("towers.*", rules(norm)));
MAP_OF(star_of_no_layers, each("h.*", 0, 0, norm));
MAP_OF(star_of_no_experts, experts("experts.*", 0, linear("up", 1, 1)));
MAP_OF(star_in_a_segment, each("h.*x", 0, layers, norm));
MAP_OF(five_numbers, rules(norm, tensor("a.0.1.2.3.4", 1)));
MAP_OF(too_long, rules(tensor("a234567890123456789012345678901234567890123456789012345678901234567890123456789"
                              "0123456789012345678901234567890123456789012345678901234567890123456789012345678901",
                              1)));
MAP_OF(fused, fuse("gate_up", linear("gate", 1, 1), linear("up", 1, 1)));
MAP_OF(fused_without_up, override_rules(fuse("gate_up", linear("gate", 1, 1), linear("up", 1, 1)), linear("up", 1, 1)));
MAP_OF(fused_under_two_conditions, fuse("gate_up", linear("gate", 1, 1), linear("up", 1, 1).when(tied)));
MAP_OF(fused_in_other_layers,
       fuse("gate_up", each("h.*", 0, 4, linear("gate", 1, 1)), each("h.*", 0, layers, linear("up", 1, 1))));
MAP_OF(fused_with_one_skipped, fuse("gate_up", linear("gate", 1, 1), skipped(linear("up", 1, 1))));
MAP_OF(fused_or_not, rules(fuse("qkv", linear("q", 1, 1).when(tied), linear("k", 1, 1).when(tied)),
                           linear("k", 1, 1).unless(tied), linear("q", 1, 1).unless(tied)));
MAP_OF(written_twice, rules(norm, tensor("a", 1).as("c"), tensor("b", 1).as("c")));
MAP_OF(written_by_turns, rules(tensor("a", 1).as("c").when(tied), tensor("b", 1).as("c").unless(tied)));
MAP_OF(written_and_skipped, rules(tensor("a", 1).as("c"), skip("b").as("c")));
MAP_OF(experts_in_two_layers,
       each("h.*", 0, layers, experts("experts.*", experts_of_a_layer, linear("up", 1, 1).as("w1"))));

template <class Table>
constexpr bool has(map_fault what, std::size_t first, std::size_t second) {
  return Table::table.fault.what == what && Table::table.fault.first == first && Table::table.fault.second == second;
}
template <class Table>
constexpr bool is_sound = Table::table.fault.what == map_fault::none;
}  // namespace

BOOST_AUTO_TEST_SUITE(arch_table)

BOOST_AUTO_TEST_CASE(a_sound_map_has_no_fault) {
  BOOST_TEST(is_sound<table_of_nothing_wrong>);
  BOOST_TEST((is_sound<compiled_map<llama, quant::none>>));
  BOOST_TEST((is_sound<compiled_map<llama, quant::none, packed>>));
}

BOOST_AUTO_TEST_CASE(two_rules_that_claim_one_tensor_are_named) {
  using enum map_fault;
  BOOST_TEST((has<table_of_claimed_twice>(two_rules_claim_one_tensor, 1, 3)));
  BOOST_TEST((has<table_of_claimed_by_the_bias>(two_rules_claim_one_tensor, 0, 1)));
  BOOST_TEST((has<table_of_claimed_by_a_range>(two_rules_claim_one_tensor, 0, 1)));
  BOOST_TEST((has<table_of_claimed_by_overlapping_layers>(two_rules_claim_one_tensor, 0, 1)));
  BOOST_TEST((has<table_of_claimed_and_skipped>(two_rules_claim_one_tensor, 0, 1)));
}

BOOST_AUTO_TEST_CASE(rules_that_never_hold_together_may_claim_one_tensor) {
  BOOST_TEST(is_sound<table_of_layers_that_do_not_meet>);
  BOOST_TEST(is_sound<table_of_conditions_that_do_not_meet>);
  BOOST_TEST(is_sound<table_of_replaced>);
  BOOST_TEST(is_sound<table_of_other_numbers>);  // one canonical form, two names
}

BOOST_AUTO_TEST_CASE(an_override_of_nothing_is_a_fault) {
  BOOST_TEST((has<table_of_replaces_nothing>(map_fault::override_replaces_nothing, 1, 1)));
}

BOOST_AUTO_TEST_CASE(a_linear_is_called_by_its_module) {
  BOOST_TEST((has<table_of_tensor_name_for_a_linear>(map_fault::linear_takes_a_module_name, 1, 1)));
  BOOST_TEST(is_sound<table_of_tensor_called_weight>);
}

BOOST_AUTO_TEST_CASE(a_star_has_a_range) {
  using enum map_fault;
  BOOST_TEST((has<table_of_star_without_each>(number_without_range, 1, 1)));
  BOOST_TEST((has<table_of_star_in_a_prefix>(number_without_range, 0, 0)));
  BOOST_TEST((has<table_of_star_of_no_layers>(number_without_range, 0, 0)));
  BOOST_TEST((has<table_of_star_of_no_experts>(number_without_range, 0, 0)));
}

BOOST_AUTO_TEST_CASE(a_name_that_cannot_be_matched_is_a_fault) {
  using enum map_fault;
  BOOST_TEST((has<table_of_star_in_a_segment>(bad_name, 0, 0)));
  BOOST_TEST((has<table_of_five_numbers>(bad_name, 1, 1)));
  BOOST_TEST((has<table_of_too_long>(bad_name, 0, 0)));
}

BOOST_AUTO_TEST_CASE(a_fused_parameter_has_all_its_pieces_in_one_scope) {
  using enum map_fault;
  BOOST_TEST(is_sound<table_of_fused>);
  BOOST_TEST((table_of_fused_without_up::table.fault.what == parameter_is_never_complete));
  BOOST_TEST(table_of_fused_without_up::table.fault.suffix == 1u);  // the piece that misses
  BOOST_TEST((table_of_fused_under_two_conditions::table.fault.what == parameter_is_never_complete));
  BOOST_TEST((table_of_fused_in_other_layers::table.fault.what == parameter_is_never_complete));
  BOOST_TEST((table_of_fused_with_one_skipped::table.fault.what == parameter_is_never_complete));
  BOOST_TEST(is_sound<table_of_fused_or_not>);
}

BOOST_AUTO_TEST_CASE(one_parameter_is_written_by_one_rule_at_a_time) {
  BOOST_TEST((has<table_of_written_twice>(map_fault::two_rules_write_one_parameter, 1, 2)));
  BOOST_TEST(is_sound<table_of_written_by_turns>);
  BOOST_TEST(is_sound<table_of_written_and_skipped>);
  BOOST_TEST(is_sound<table_of_experts_in_two_layers>);
}

BOOST_AUTO_TEST_CASE(a_tensor_is_one_line_and_a_linear_one_for_each_part) {
  BOOST_TEST(table_of_nothing_wrong::line_count == 4u);  // two norms, .bias, .weight
  BOOST_TEST((compiled_map<nothing_wrong, quant::none, packed>::line_count == 6u));
  BOOST_TEST((compiled_map<other_numbers, quant::none, packed>::line_count == 2u));  // plain(): only .weight
}

BOOST_AUTO_TEST_CASE(each_suffix_is_listed_once) {
  constexpr auto s = suffixes_of<quant::none, packed>();
  std::string all;
  for (std::size_t i = 0; i < s.count; ++i) all += std::string{s.text[i]} + " ";
  BOOST_TEST(all == " .bias .weight .weight_packed .weight_scale ");
}

BOOST_AUTO_TEST_CASE(each_line_stands_in_the_bucket_of_its_hash) {
  using map = compiled_map<llama, quant::none, packed>;
  auto const& t = map::table;
  BOOST_TEST(map::bucket_count >= 2 * map::line_count);
  BOOST_TEST((map::bucket_count & (map::bucket_count - 1)) == 0u);
  BOOST_TEST(t.buckets[0] == 0u);
  BOOST_TEST(t.buckets[map::bucket_count] == map::line_count);
  unsigned strays = 0;
  for (std::size_t b = 0; b < map::bucket_count; ++b)
    for (unsigned i = t.buckets[b]; i < t.buckets[b + 1]; ++i) strays += t.lines[i].hash % map::bucket_count != b;
  BOOST_TEST(strays == 0u);
}

BOOST_AUTO_TEST_CASE(a_line_is_found_by_the_name_that_it_claims) {
  using map = compiled_map<llama, quant::none>;
  auto const c = canonical("model.layers.7.self_attn.k_proj.weight");
  auto const b = c.hash % map::bucket_count;
  unsigned found = 0;
  for (unsigned i = map::table.buckets[b]; i < map::table.buckets[b + 1]; ++i)
    if (auto const& l = map::table.lines[i]; l.hash == c.hash) {
      ++found;
      BOOST_TEST(map::rules[l.rule].path[3] == "self_attn.k_proj");
      BOOST_TEST(map::suffixes.text[l.suffix] == ".weight");
      BOOST_TEST(int{l.wild} == 1);
      BOOST_TEST(int{l.numbers} == 1);
    }
  BOOST_TEST(found == 1u);
}

BOOST_AUTO_TEST_CASE(a_removed_rule_has_no_line) {
  BOOST_TEST(table_of_replaced::line_count == 1u);
  BOOST_TEST(table_of_replaced::table.lines[0].rule == 1u);
}

BOOST_AUTO_TEST_SUITE_END()
