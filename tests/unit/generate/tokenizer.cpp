#include "../../../examples/generate/tokenizer.hpp"

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>

#include "../../../examples/generate/text.hpp"
#include "recorded.hpp"

namespace {
using generate::token_id;
using generate::tokenizer;
using simdjson::dom::element;

tokenizer const& small() {
  static tokenizer const it{recorded::file("small/tokenizer.json")};
  return it;
}

/// The message with which a changed tokenizer.json is refused; "taken" if it is not.
std::string refusal_of(std::string const& from, std::string const& to) {
  std::ifstream in{recorded::file("small/tokenizer.json")};
  std::stringstream whole;
  whole << in.rdbuf();
  auto text = whole.str();
  auto const at = text.find(from);
  BOOST_TEST_REQUIRE(at != text.npos, from << " is not in the file");
  text.replace(at, from.size(), to);
  auto const path =
      std::filesystem::temp_directory_path() / ("penstock_tokenizer_" + std::to_string(std::random_device{}()));
  std::ofstream{path} << text;
  std::string message = "taken";
  try {
    tokenizer const t{path};
  } catch (std::runtime_error const& e) { message = e.what(); }
  std::filesystem::remove(path);
  return message;
}
}  // namespace

BOOST_AUTO_TEST_SUITE(generate_tokenizer)

BOOST_AUTO_TEST_CASE(recorded_texts_have_the_recorded_ids_and_come_back) {
  simdjson::dom::parser parser;
  element const file = parser.load(recorded::file("small/cases.json"));
  simdjson::dom::array const cases = file["cases"];
  std::size_t count = 0;
  for (auto const c : cases) {
    auto const text = recorded::text(c["text"]);
    auto const ids = recorded::ids(c["ids"]);
    BOOST_TEST(small().encode(text) == ids, boost::test_tools::per_element());
    BOOST_TEST(small().decode(ids) == recorded::text(c["decoded"]));
    BOOST_TEST(small().decode(ids, false) == recorded::text(c["plain"]));
    ++count;
  }
  BOOST_TEST(count >= 250u);
}

BOOST_AUTO_TEST_CASE(ids_that_end_within_a_character_have_the_recorded_text) {
  simdjson::dom::parser parser;
  element const file = parser.load(recorded::file("small/cases.json"));
  simdjson::dom::array const cases = file["decode"];
  std::size_t count = 0;
  for (auto const c : cases) {
    BOOST_TEST(small().decode(recorded::ids(c["ids"])) == recorded::text(c["decoded"]));
    ++count;
  }
  BOOST_TEST(count == 40u);
}

BOOST_AUTO_TEST_CASE(any_bytes_are_taken_as_the_valid_text_they_stand_for) {
  std::mt19937 random{7};
  for (int round = 0; round < 500; ++round) {
    std::string bytes;
    for (auto n = random() % 40; n > 0; --n)
      bytes += static_cast<char>(random() % 3 == 0 ? random() % 128 : 128 + random() % 128);
    auto const ids = small().encode(bytes);
    BOOST_TEST(small().encode(generate::valid_utf8(bytes)) == ids, boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(unknown_ids_have_no_text) {
  std::vector<token_id> const ids{4000000000u, 1u << 30};
  BOOST_TEST(small().decode(ids).empty());
}

BOOST_AUTO_TEST_CASE(merges_may_be_written_as_pairs) {
  BOOST_TEST(refusal_of(R"("merges":["\u0120 t",)", R"("merges":[["\u0120","t"],)") == "taken");
}

BOOST_AUTO_TEST_CASE(what_the_engine_lacks_is_refused_by_name) {
  auto const says = [](std::string const& from, std::string const& to, std::string const& words) {
    auto const message = refusal_of(from, to);
    BOOST_TEST(message.find(words) != message.npos, "'" << message << "' does not say '" << words << "'");
  };
  says(R"("normalizer":null)", R"("normalizer":{"type":"NFC"})", "no normalizer, found NFC");
  says(R"("type":"BPE")", R"("type":"Unigram")", "type BPE, found Unigram");
  says(R"("type":"Digits")", R"("type":"Punctuation")", "found Punctuation");
  says(R"("byte_fallback":false)", R"("byte_fallback":true)", "no byte_fallback");
  says(R"("unk_token":null)", R"("unk_token":"!")", "no unk_token");
  says(R"("lstrip":false)", R"("lstrip":true)", "lstrip");
  says(R"("merges":["\u0120 t",)", R"("merges":["\u0120 ~~~",)", "~~~', which a merge names");
  says(R"("merges":["\u0120 t",)", R"("merges":["nospace",)", "is no pair");
  says(R"("version":)", "", "improper structure");
}

BOOST_AUTO_TEST_CASE(a_file_that_is_not_there_is_named) {
  BOOST_CHECK_EXCEPTION(tokenizer{"/nonexistent/tokenizer.json"}, std::runtime_error, [](std::runtime_error const& e) {
    return std::string{e.what()}.find("/nonexistent/tokenizer.json") != std::string::npos;
  });
}

BOOST_AUTO_TEST_SUITE_END()
