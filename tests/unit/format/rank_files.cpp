#include <penstock/format/rank_files.hpp>

#include <boost/test/unit_test.hpp>

using namespace penstock;

namespace {
constexpr std::string_view usual = "model-rank-{rank}-part-{part}.safetensors";
std::string part(u32 rank, u32 part) {
  return "model-rank-" + std::to_string(rank) + "-part-" + std::to_string(part) + ".safetensors";
}
std::string failure(std::vector<std::string> const& listing, std::string_view pattern, error_kind kind) {
  auto const r = rank_files(listing, pattern);
  if (r || r.error().kind() != kind) return "another kind";
  return r.error().message();
}
bool has(std::string const& s, std::string_view words) { return s.find(words) != s.npos; }
}  // namespace

BOOST_AUTO_TEST_SUITE(format_rank_files)

BOOST_AUTO_TEST_CASE(files_come_by_rank_and_part_whatever_their_names_sort_like) {
  std::vector<std::string> listing{"config.json", "model-rank-0-part-0.bin"};
  for (u32 rank = 12; rank-- > 0;)
    for (u32 p = 11; p-- > 0;) listing.push_back(part(rank, p));
  auto const files = rank_files(listing, usual).value();
  BOOST_TEST_REQUIRE(files.size() == 132u);
  for (u32 i = 0; i < 132; ++i) {
    BOOST_TEST((files[i].rank == i / 11 && files[i].part == i % 11));
    BOOST_TEST(files[i].name == part(i / 11, i % 11));
  }
}

BOOST_AUTO_TEST_CASE(a_pattern_may_have_no_parts_or_name_a_folder) {
  auto const one =
      rank_files(std::vector<std::string>{"model1-mp2.safetensors", "model0-mp2.safetensors", "model0-mp4.safetensors"},
                 "model{rank}-mp2.safetensors")
          .value();
  BOOST_TEST_REQUIRE(one.size() == 2u);
  BOOST_TEST((one[1].name == "model1-mp2.safetensors" && one[1].rank == 1));
  auto const two =
      rank_files(std::vector<std::string>{"r0/001.st", "r0/002.st", "r1/001.st"}, "r{rank}/{part}.st").value();
  BOOST_TEST_REQUIRE(two.size() == 3u);
  BOOST_TEST((two[1].part == 2 && two[2].rank == 1));
}

BOOST_AUTO_TEST_CASE(what_is_missing_is_named) {
  BOOST_TEST(has(failure({part(1, 0), part(2, 0)}, usual, error_kind::not_found), "expected a file of rank 0"));
  BOOST_TEST(has(failure({part(0, 0), part(2, 0)}, usual, error_kind::not_found), "expected a file of rank 1"));
  BOOST_TEST(has(failure({part(0, 0), part(0, 2)}, usual, error_kind::not_found), "expected part 1 of rank 0"));
  BOOST_TEST(has(failure({part(0, 0), part(1, 2)}, usual, error_kind::not_found), "expected part 0 of rank 1"));
  BOOST_TEST(has(failure({"model.safetensors"}, usual, error_kind::not_found), "none among 1 file"));
  BOOST_TEST(has(failure({part(0, 99999) + "9"}, usual, error_kind::not_found), "none among"));
  BOOST_TEST(has(failure({"model-rank-99999999999-part-0.safetensors"}, usual, error_kind::not_found), "none among"));
}

BOOST_AUTO_TEST_CASE(what_cannot_be) {
  for (auto const* pattern : {"model.safetensors", "model-{part}", "{rank}-{rank}", "{rank}-{part}-{part}"})
    BOOST_TEST(has(failure({"0-0"}, pattern, error_kind::usage), "{rank} once"));
  BOOST_TEST(has(failure({"m-0-1", "m-0-01"}, "m-{rank}-{part}", error_kind::config), "rank 0 and part 1"));
}

BOOST_AUTO_TEST_SUITE_END()
