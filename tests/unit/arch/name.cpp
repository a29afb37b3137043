#include <boost/test/unit_test.hpp>
#include <string>

#include <penstock/arch/name.hpp>

using penstock::u64;
using penstock::arch::canonical;

BOOST_AUTO_TEST_SUITE(arch_name)

BOOST_AUTO_TEST_CASE(a_number_and_a_star_have_one_canonical_form) {
  auto const pattern = canonical("model.layers.*.mlp.down_proj.weight");
  auto const name = canonical("model.layers.12.mlp.down_proj.weight");
  BOOST_TEST(name.hash == pattern.hash);
  BOOST_TEST(int{name.numbers} == 1);
  BOOST_TEST(name.value[0] == 12u);
  BOOST_TEST(int{name.wild} == 0);
  BOOST_TEST(int{pattern.numbers} == 1);
  BOOST_TEST(int{pattern.wild} == 1);
}

BOOST_AUTO_TEST_CASE(each_number_is_kept_in_its_place) {
  auto const c = canonical("model.layers.60.mlp.experts.255.proj.0");
  BOOST_TEST(int{c.numbers} == 3);
  BOOST_TEST(c.value[0] == 60u);
  BOOST_TEST(c.value[1] == 255u);
  BOOST_TEST(c.value[2] == 0u);
  BOOST_TEST(int{canonical("a.*.b.1.c.*").wild} == 0b101);
}

BOOST_AUTO_TEST_CASE(names_of_other_letters_have_other_forms) {
  BOOST_TEST(canonical("model.norm.weight").hash != canonical("model.norm.bias").hash);
  BOOST_TEST(canonical("a.b").hash != canonical("a..b").hash);
  BOOST_TEST(canonical("a.b").hash != canonical("a.b.").hash);
  BOOST_TEST(canonical("ab").hash != canonical("a.b").hash);
  BOOST_TEST(canonical("a.1").hash != canonical("1.a").hash);
}

BOOST_AUTO_TEST_CASE(digits_inside_a_segment_are_letters) {
  for (auto const* name : {"norm0.weight", "w13_weight", "12abc.weight", "a.1b"}) {
    BOOST_TEST_CONTEXT(name) {
      BOOST_TEST(!canonical(name).bad);
      BOOST_TEST(int{canonical(name).numbers} == 0);
    }
  }
  BOOST_TEST(canonical("norm0.weight").hash != canonical("norm1.weight").hash);
  BOOST_TEST(canonical("12abc").hash != canonical("13abc").hash);
}

BOOST_AUTO_TEST_CASE(one_number_has_one_spelling) {
  BOOST_TEST(!canonical("layers.0.w").bad);
  BOOST_TEST(canonical("layers.00.w").bad);
  BOOST_TEST(canonical("layers.07.w").bad);
  BOOST_TEST(!canonical("layers.10.w").bad);
}

BOOST_AUTO_TEST_CASE(a_number_has_at_most_nine_digits) {
  auto const most = canonical("layers.999999999.w");
  BOOST_TEST(!most.bad);
  BOOST_TEST(most.value[0] == 999999999u);
  BOOST_TEST(canonical("layers.1000000000.w").bad);
  BOOST_TEST(canonical("layers.4294967297.w").bad);                // 1, in 32 bits
  auto const beyond = canonical("layers.18446744073709551617.w");  // 1, in 64 bits: letters, to which no star answers
  BOOST_TEST((beyond.bad || (beyond.numbers == 0 && beyond.hash != canonical("layers.*.w").hash)));
}

BOOST_AUTO_TEST_CASE(a_name_has_at_most_four_numbers) {
  BOOST_TEST(!canonical("a.1.2.3.4").bad);
  BOOST_TEST(canonical("a.1.2.3.4.5").bad);
  BOOST_TEST(canonical("*.*.*.*.*").bad);
}

BOOST_AUTO_TEST_CASE(a_star_is_a_whole_segment) {
  BOOST_TEST(!canonical("*").bad);
  BOOST_TEST(canonical("layers.*th.w").bad);
  BOOST_TEST(canonical("layers.**.w").bad);
  BOOST_TEST(canonical("layer_*.w").bad);
  BOOST_TEST(canonical("layers.a*").bad);
}

BOOST_AUTO_TEST_CASE(the_sign_of_the_canonical_form_is_no_number_in_a_name) {
  BOOST_TEST(int{canonical("layers.#.w").numbers} == 0);  // so that it is told from `layers.7.w`, whose hash it has
}

BOOST_AUTO_TEST_CASE(hostile_names_do_no_harm) {
  BOOST_TEST(int{canonical("").numbers} == 0);
  BOOST_TEST(int{canonical("...").numbers} == 0);
  BOOST_TEST(int{canonical(std::string(100'000, '9')).numbers} == 0);
  BOOST_TEST(!canonical(std::string(100'000, 'a')).bad);
  BOOST_TEST(!canonical(std::string_view{"a\0b", 3}).bad);
  BOOST_TEST(canonical(std::string_view{"a\0b", 3}).hash != canonical("a").hash);
  BOOST_TEST(!canonical("\xff\xfe").bad);
}

BOOST_AUTO_TEST_CASE(the_hash_is_the_published_one) {
  // Test vectors of the 64-bit FNV-1a.
  BOOST_TEST(canonical("").hash == u64{0xcbf29ce484222325});
  BOOST_TEST(canonical("a").hash == u64{0xaf63dc4c8601ec8c});
  BOOST_TEST(canonical("foobar").hash == u64{0x85944171f73967e8});
}

BOOST_AUTO_TEST_CASE(compiling_and_running_agree) {
  constexpr auto compiled = canonical("model.layers.3.experts.*.w");
  std::string const text = "model.layers.3.experts.*.w";
  auto const ran = canonical(text);
  BOOST_TEST(compiled.hash == ran.hash);
  BOOST_TEST(compiled.wild == ran.wild);
  BOOST_TEST(compiled.value == ran.value, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
