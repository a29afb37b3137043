#include "../../../examples/generate/text.hpp"

#include <boost/test/unit_test.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace {
using pieces = std::vector<std::string_view>;

void cuts(std::string_view text, pieces const& expected, bool each_digit_alone = true) {
  auto const found = generate::pieces_of(text, each_digit_alone);
  BOOST_TEST(found == expected, boost::test_tools::per_element());
}
}  // namespace

BOOST_AUTO_TEST_SUITE(generate_text)

BOOST_AUTO_TEST_CASE(a_word_takes_one_space_before_it) {
  cuts("Hello world", {"Hello", " world"});
  cuts("a   b", {"a", "  ", " b"});
  cuts("a\tb", {"a", "\t", "b"});
  cuts("a\n\nb", {"a", "\n", "\n", "b"});
  cuts("end  ", {"end", "  "});
}

BOOST_AUTO_TEST_CASE(signs_and_contractions_are_pieces) {
  cuts("it's, I'M", {"it", "'s", ",", " I", "'", "M"});
  cuts("x != y;", {"x", " !=", " y", ";"});
}

BOOST_AUTO_TEST_CASE(digits_stand_alone_where_that_is_asked) {
  cuts("in 2024", {"in", " ", "2", "0", "2", "4"});
  cuts("in 2024", {"in", " 2024"}, false);
  cuts("\u0663\u00bd", {"\u0663", "\u00bd"});
}

BOOST_AUTO_TEST_CASE(white_space_before_a_digit_stays_whole) {
  cuts("a  1", {"a", "  ", "1"});
  cuts("a  1", {"a", " ", " 1"}, false);
}

BOOST_AUTO_TEST_CASE(white_space_is_that_of_unicode) {
  cuts("a\u3000\u00a0b", {"a", "\u3000", "\u00a0", "b"});
  cuts("a\u0085", {"a", "\u0085"});
  cuts("\u200b", {"\u200b"});
}

BOOST_AUTO_TEST_CASE(letters_and_marks_are_told_apart) {
  cuts("東京へ", {"東京へ"});
  cuts("e\u0301", {"e", "\u0301"});
  cuts("a\U0001f600b", {"a", "\U0001f600", "b"});
}

BOOST_AUTO_TEST_CASE(an_empty_text_has_no_pieces) { cuts("", {}); }

BOOST_AUTO_TEST_CASE(valid_text_stays_as_it_is) {
  std::string_view const text{"a\0 \x7f \u0080 \u07ff \u0800 \ud7ff \ue000 \uffff \U00010000 \U0010ffff", 31};
  BOOST_TEST(generate::valid_utf8(text) == text);
}

BOOST_AUTO_TEST_CASE(each_longest_broken_start_of_a_character_is_replaced_once) {
  std::string const r = "\ufffd";
  auto const is = [](std::string_view bytes, std::string const& expected) {
    BOOST_TEST(generate::valid_utf8(bytes) == expected);
  };
  is("\x80", r);
  is("\xC3", r);
  is("\xC3(", r + "(");
  is("\xC0\xAF", r + r);                  // overlong
  is("\xE0\x80\x80", r + r + r);          // overlong
  is("\xED\xA0\x80", r + r + r);          // a surrogate
  is("\xF4\x90\x80\x80", r + r + r + r);  // beyond U+10FFFF
  is("\xF5\xFF", r + r);
  is("\xE6\x9D", r);
  is("\xE6\x9Dx", r + "x");
  is("\xF0\x9F\x98\xF0\x9F\x98\x80", r + "\U0001f600");
}

BOOST_AUTO_TEST_SUITE_END()
