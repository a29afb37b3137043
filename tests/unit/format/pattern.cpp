#include <penstock/format/detail/pattern.hpp>
#include <penstock/format/ignore_list.hpp>

#include <boost/test/unit_test.hpp>

using namespace penstock;
using penstock::detail::ignore_list;
using penstock::detail::pattern;

namespace {
bool matches(std::string_view expression, std::string_view name) {
  auto const p = pattern::parse(expression);
  BOOST_TEST_REQUIRE(p.has_value(), (p ? "" : p.error().message()));
  return p->matches(name);
}
}  // namespace

BOOST_AUTO_TEST_SUITE(format_pattern)

BOOST_AUTO_TEST_CASE(what_an_expression_matches_is_what_python_s_re_match_does) {
  struct {
    std::string_view expression, yes, no;
  } const cases[] = {
      {"abc", "abcd", "xabc"},
      {".*abc", "xxabc", "ab"},
      {"a.c$", "abc", "abcd"},
      {"^a|b$", "ax", "xb"},
      {"a(b|c)+d", "abcbd", "ad"},
      {"a(?:bc)?d", "abcd", "abd"},
      {"[a-c_]+\\.[^.]*x", "ab_.yx", "ab_.y.x"},
      {"[]a]b", "]b", "[b"},
      {"\\d+\\w\\s\\D", "12_ x", "12_ 3"},
      {"a*?b", "aab", "aac"},
      {"(a|b)*(c|)d", "abd", "abxd"},
      {"a**b", "aab", "ac"},
      {"(a*)*$", "aaaa", "aaab"},
      {"()*x", "x", ""},
  };
  for (auto const& c : cases) {
    BOOST_TEST(matches(c.expression, c.yes), c.expression);
    BOOST_TEST(!matches(c.expression, c.no), c.expression);
  }
  BOOST_TEST((matches("", "") && matches("", "x") && matches("x?$", "")));
}

BOOST_AUTO_TEST_CASE(time_is_linear_in_the_name) {
  std::string const many(5000, 'a');
  BOOST_TEST(!matches("(a*)*(a*)*(a*)*b", many));
  BOOST_TEST(!matches("(a|a)*(a|a)*b", many));
}

// Case H23.
BOOST_AUTO_TEST_CASE(an_ignore_list_has_names_and_expressions) {
  quant_declaration d;
  d.ignored = {"lm_head", "re:.*self_attn.*", "re:.*mlp\\.(gate|up|gate_up|down)_proj.*", "re:vision_tower.*"};
  auto const list = ignore_list::make(&d).value();
  for (auto const* module : {"lm_head", "language_model.lm_head", "model.layers.3.self_attn.q_proj",
                             "model.layers.0.mlp.gate_proj", "vision_tower.blocks.0.mlp.fc0"})
    BOOST_TEST(list.has(module), module);
  for (auto const* module : {"model.layers.3.mlp.experts.7.gate_proj", "model.vision_tower.x", "lm_head_proj"})
    BOOST_TEST(!list.has(module), module);
}

BOOST_AUTO_TEST_CASE(what_is_no_expression_is_a_config_error_that_says_where) {
  for (std::string_view const bad :
       {"(", "a)", "[a", "[", "*a", "a{2}", "(?!a)b", "(?P<n>a)", "\\", "\\b", "\\1", "[z-a]", "a|*"}) {
    auto const p = pattern::parse(bad);
    BOOST_TEST_REQUIRE(!p, bad);
    BOOST_TEST((p.error().kind() == error_kind::config));
    BOOST_TEST(p.error().message().find("character") != std::string::npos, p.error().message());
  }
  BOOST_TEST(!pattern::parse(std::string(1001, 'a')));
  BOOST_TEST(pattern::parse(std::string(1000, '(')).has_value() == false);
  quant_declaration d;
  d.where = "quantization_config", d.ignored = {"re:("};
  auto const list = ignore_list::make(&d);
  BOOST_TEST_REQUIRE(!list);
  BOOST_TEST(list.error().message().find("quantization_config") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
