#include <boost/test/unit_test.hpp>
#include <concepts>
#include <string>

#include <penstock/arch/as_stored.hpp>
#include <penstock/arch/llama.hpp>
#include <penstock/arch/weight_map.hpp>

using namespace penstock;

namespace {
struct rows {
  static constexpr std::string_view name = "rows";
  static constexpr auto linear = quant::linear_is(quant::payload(".rows", dtype::int8, quant::out, quant::in));
};
struct nameless {
  static constexpr auto map = arch::rules(arch::tensor("norm", 1));
};

std::string schemes_of(map_view const& v) {
  std::string s;
  for (auto const& scheme : v.schemes()) s += std::string{scheme.name} + " ";
  return s;
}
}  // namespace

BOOST_AUTO_TEST_SUITE(arch_weight_map)

BOOST_AUTO_TEST_CASE(an_architecture_has_a_name_and_a_map) {
  static_assert(weight_map<arch::llama> && weight_map<arch::as_stored>);
  static_assert(!weight_map<nameless> && !weight_map<int>);
  static_assert(nameless::map.list.size() == 1, "it has a map");
  BOOST_TEST(weight_map_of<arch::llama>::view().arch_name() == "llama");
}

BOOST_AUTO_TEST_CASE(plain_numbers_are_always_among_the_schemes) {
  BOOST_TEST(schemes_of(weight_map_of<arch::llama>::view()) == "none ");
  BOOST_TEST(schemes_of(weight_map_of<arch::llama, quant::none>::view()) == "none ");
  BOOST_TEST(schemes_of(weight_map_of<arch::llama, rows>::view()) == "none rows ");
  BOOST_TEST((schemes_of(weight_map_of<arch::llama, quant::any_of<rows>>::view()) == "none rows "));
}

BOOST_AUTO_TEST_CASE(a_view_shows_the_table_without_its_types) {
  using table = arch::compiled_map<arch::llama, quant::none, rows>;
  constexpr auto v = weight_map_of<arch::llama, rows>::view();
  BOOST_TEST(!v.identity());
  BOOST_TEST(v.rules().size() == arch::llama::map.list.size());
  BOOST_TEST(v.lines().size() == table::line_count);
  BOOST_TEST(v.buckets().size() == table::bucket_count + 1);
  BOOST_TEST(v.suffixes().size() == 4u);  // none, .bias, .weight, .rows
  BOOST_TEST(v.suffixes()[3] == ".rows");
}

BOOST_AUTO_TEST_CASE(the_identity_has_neither_rules_nor_lines) {
  constexpr auto v = weight_map_of<arch::as_stored, rows>::view();
  BOOST_TEST(v.identity());
  BOOST_TEST((v.rules().empty() && v.lines().empty() && v.buckets().empty()));
  BOOST_TEST(schemes_of(v) == "none rows ");
}

BOOST_AUTO_TEST_CASE(nobody_else_makes_a_view) {
  static_assert(!std::default_initializable<map_view>);
  static_assert(std::copyable<map_view> || std::copy_constructible<map_view>);
  BOOST_TEST(weight_map_of<arch::llama>::view().rules().data() == weight_map_of<arch::llama>::view().rules().data());
}

BOOST_AUTO_TEST_CASE(a_fault_names_the_tensor_and_the_place_of_the_rule) {
  constexpr auto r = arch::each("layers.*", 0, 4, arch::linear("proj", 1, 1)).list[0];
  BOOST_TEST(std::string{arch::spelled(r, ".weight").letters} == "layers.*.proj.weight");
  BOOST_TEST(std::string{arch::place_of(r).letters} == "weight_map.cpp:" + std::to_string(r.line));
  BOOST_TEST(r.line == __LINE__ - 3u);
}

BOOST_AUTO_TEST_SUITE_END()
