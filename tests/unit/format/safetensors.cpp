#include <penstock/format/detail/message.hpp>

#include "st.hpp"

#include <algorithm>
#include <random>

using namespace penstock;
using namespace fixture;

BOOST_AUTO_TEST_SUITE(format_safetensors)

// Case H01.
BOOST_AUTO_TEST_CASE(a_dimension_of_zero_is_legal_and_has_no_bytes) {
  constexpr std::string_view header = R"({"blk.0.weight":{"dtype":"F8_E4M3","shape":[2,3],"data_offsets":[0,6]},)"
                                      R"("scaled_fp8":{"dtype":"F8_E4M3","shape":[0],"data_offsets":[6,6]}})";
  auto const r = read(st(header, "89:;<="));
  BOOST_TEST_REQUIRE(r.has_value());
  BOOST_TEST_REQUIRE(r->tensors.size() == 2u);
  auto const& empty = r->tensors[1];
  BOOST_TEST(empty.name == "scaled_fp8");
  BOOST_TEST((empty.shape == shape{0}));
  BOOST_TEST(empty.where.size.count == 0u);
  BOOST_TEST(empty.where.first.count == 8 + header.size() + 6);

  std::string one{header};
  one.replace(one.find("[0],"), 3, "[1]");
  auto const twin = read(st(one, "89:;<="));
  BOOST_TEST(bad_format(twin, {"\"scaled_fp8\"", "expected 1 bytes", "found 0"}));
  BOOST_TEST(twin.error().where().tensor == "\"scaled_fp8\"");
}

// Case H02.
BOOST_AUTO_TEST_CASE(metadata_absent_empty_and_null_are_the_same) {
  for (std::string const head : {R"({"__metadata__":{},)", R"({"__metadata__":null,)", "{"}) {
    auto const r = read(st(head + R"("w":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]}})", 4));
    BOOST_TEST_REQUIRE(r.has_value());
    BOOST_TEST_REQUIRE(r->tensors.size() == 1u);
    BOOST_TEST(r->tensors[0].name == "w");
    BOOST_TEST(r->metadata.empty());
  }
}

BOOST_AUTO_TEST_CASE(metadata_is_strings_to_strings_each_key_once) {
  auto const r = read(st(R"({"__metadata__":{"format":"pt","":"\u0000"}})", 0));
  BOOST_TEST_REQUIRE(r.has_value());
  BOOST_TEST_REQUIRE(r->metadata.size() == 2u);
  BOOST_TEST(r->metadata[0].first == "format");
  BOOST_TEST(r->metadata[0].second == "pt");
  BOOST_TEST(bad_format(read(st(R"({"__metadata__":{"step":3}})", 0)), {"strings", "an integer", "\"step\""}));
  BOOST_TEST(bad_format(read(st(R"({"__metadata__":{"a":"","a":""}})", 0)), {"duplicate", "\"a\""}));
  BOOST_TEST(bad_format(read(st(R"({"__metadata__":{"a\u0000":""}})", 0)), {"NUL", R"("a\u0000")"}));
  BOOST_TEST(bad_format(read(st(R"({"__metadata__":{},"__metadata__":{}})", 0)), {"__metadata__", "duplicate"}));
  BOOST_TEST(bad_format(read(st(R"({"__metadata__":[]})", 0)), {"__metadata__", "an array"}));
}

// Case H03.
BOOST_AUTO_TEST_CASE(four_bit_elements_are_counted_in_elements_and_stored_in_half_bytes) {
  auto const r = read(st(R"({"s":{"dtype":"F8_E8M0","shape":[2,3],"data_offsets":[0,6]},)"
                         R"("q":{"dtype":"F4","shape":[2,8],"data_offsets":[6,14]}})",
                         14));
  BOOST_TEST_REQUIRE(r.has_value());
  BOOST_TEST((r->tensors[0].type == dtype::f8_e8m0));
  BOOST_TEST(r->tensors[0].where.size.count == 6u);
  BOOST_TEST((r->tensors[1].shape == shape{2, 8}));
  BOOST_TEST(r->tensors[1].where.size.count == 8u);
  auto const odd = read(st(R"({"q":{"dtype":"F4","shape":[1,3],"data_offsets":[0,2]}})", 2));
  BOOST_TEST(bad_format(odd, {"\"q\"", "whole bytes", "12 bits", "F4"}));
}

BOOST_AUTO_TEST_CASE(every_dtype_of_the_format_has_its_size) {
  for (unsigned i = 1; i < detail::dtype_rows.size(); ++i) {
    auto const t = static_cast<dtype>(i);
    u64 const size = 8 * bits_of(t) / 8;  // eight elements
    auto const end = std::to_string(size);
    auto const header = [&](std::string const& to) {
      return R"({"t":{"dtype":")" + std::string{name_of(t)} + R"(","shape":[8],"data_offsets":[0,)" + to + "]}}";
    };
    auto const r = read(st(header(end), size));
    BOOST_TEST_REQUIRE(r.has_value(), name_of(t));
    BOOST_TEST((r->tensors[0].type == t));
    BOOST_TEST(bad_format(read(st(header(std::to_string(size + 1)), size + 1)), {"expected " + end + " bytes"}));
  }
}

// Case H04.
BOOST_AUTO_TEST_CASE(data_begin_behind_the_header_whatever_its_length) {
  std::string const header = R"({"t":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  BOOST_TEST_REQUIRE(header.size() == 54u);
  auto const r = read(st(header, 8));
  BOOST_TEST_REQUIRE(r.has_value());
  BOOST_TEST(r->tensors[0].where.first.count == 62u);
  BOOST_TEST((r->tensors[0].shard == object_id{7}));
  auto const padded = read(st(header + "  ", 8));
  BOOST_TEST_REQUIRE(padded.has_value());
  BOOST_TEST(padded->tensors[0].where.first.count == 64u);
}

// Case H05.
BOOST_AUTO_TEST_CASE(a_name_stands_once) {
  auto const r = read(st(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
                         R"("a":{"dtype":"U8","shape":[4],"data_offsets":[4,8]},)"
                         R"("b":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})",
                         8));
  BOOST_TEST(bad_format(r, {"\"a\"", "duplicate"}));
  auto const escaped = read(st(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
                               R"("\u0061":{"dtype":"U8","shape":[4],"data_offsets":[4,8]}})",
                               8));
  BOOST_TEST(bad_format(escaped, {"\"a\"", "duplicate"}));
}

// Case H05, the twin.
BOOST_AUTO_TEST_CASE(a_field_stands_once) {
  for (std::string const again : {R"("dtype":"U8")", R"("shape":[4])", R"("data_offsets":[0,4])"}) {
    auto const r = read(st(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4],)" + again + "}}", 4));
    BOOST_TEST(bad_format(r, {"\"a\"", "duplicate", again.substr(1, again.find(':') - 2)}));
  }
}

BOOST_AUTO_TEST_CASE(all_three_fields_must_be_there_and_no_other) {
  BOOST_TEST(bad_format(read(st(R"({"a":{"shape":[4],"data_offsets":[0,4]}})", 4)), {"\"a\"", "field dtype", "none"}));
  BOOST_TEST(bad_format(read(st(R"({"a":{"dtype":"U8","data_offsets":[0,4]}})", 4)), {"\"a\"", "field shape", "none"}));
  BOOST_TEST(bad_format(read(st(R"({"a":{"dtype":"U8","shape":[4]}})", 4)), {"\"a\"", "field data_offsets", "none"}));
  auto const file = st(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4],"x":[-0.5]}})", 4);
  BOOST_TEST(bad_format(read(file), {"\"a\"", "\"x\"", "allow_unknown_fields"}));
  BOOST_TEST(read(file, {.allow_unknown_fields = true}).has_value());
}

// Case H06, (a) to (d).
BOOST_AUTO_TEST_CASE(entries_come_in_any_order_and_must_tile_the_data) {
  auto const file = [](std::string const& z, std::size_t data) {
    return st(R"({"z":{"dtype":"U8","shape":[2],"data_offsets":)" + z +
                  R"(},"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
              data);
  };
  auto const good = read(file("[4,6]", 6));
  BOOST_TEST_REQUIRE(good.has_value());
  BOOST_TEST(good->tensors[0].name == "a");
  BOOST_TEST(good->tensors[1].name == "z");
  BOOST_TEST(bad_format(read(file("[5,7]", 7)), {"\"z\"", "1 byte before it not described"}));
  BOOST_TEST(bad_format(read(file("[4,6]", 9)), {"3 bytes after it", "allow_trailing"}));
  BOOST_TEST(read(file("[4,6]", 9), {.allow_trailing = true}).has_value());
  BOOST_TEST(bad_format(read(file("[3,5]", 5)), {"overlap", "\"a\"", "\"z\""}));
}

BOOST_AUTO_TEST_CASE(zero_size_tensors_share_an_offset_and_keep_the_order_of_the_file) {
  auto const r = read(st(R"({"b":{"dtype":"F32","shape":[0,3],"data_offsets":[4,4]},)"
                         R"("c":{"dtype":"F32","shape":[],"data_offsets":[0,4]},)"
                         R"("a":{"dtype":"I8","shape":[2,0],"data_offsets":[4,4]}})",
                         4));
  BOOST_TEST_REQUIRE(r.has_value());
  BOOST_TEST(r->tensors[0].name == "c");
  BOOST_TEST(r->tensors[0].shape.rank() == 0u);
  BOOST_TEST(r->tensors[1].name == "b");
  BOOST_TEST(r->tensors[2].name == "a");
  auto const inside = read(st(R"({"b":{"dtype":"F32","shape":[0],"data_offsets":[2,2]},)"
                              R"("c":{"dtype":"F32","shape":[],"data_offsets":[0,4]}})",
                              4));
  BOOST_TEST(bad_format(inside, {"\"b\"", "\"c\"", "overlap"}));
}

BOOST_AUTO_TEST_CASE(the_first_of_many_overlaps_ends_it) {
  std::string header = "{";
  for (int i = 0; i < 10; ++i)
    header += (i ? ",\"t" : "\"t") + std::to_string(i) + R"(":{"dtype":"I32","shape":[2,2],"data_offsets":[0,16]})";
  BOOST_TEST(bad_format(read(st(header + "}", 16)), {"overlap", "\"t0\"", "\"t1\""}));
}

// Case H06, (e).
BOOST_AUTO_TEST_CASE(a_shape_that_lies_is_found_with_both_sizes) {
  auto const r = read(st(R"({"a":{"dtype":"F32","shape":[1000,1000],"data_offsets":[0,4]}})", 4));
  BOOST_TEST(bad_format(r, {"\"a\"", "4000000", "found 4 "}));
}

// Case H28, (c).
BOOST_AUTO_TEST_CASE(a_tensor_that_ends_behind_the_file_is_truncated) {
  std::string const header = R"({"w":{"dtype":"U8","shape":[9],"data_offsets":[0,9]}})";
  auto const end = std::to_string(8 + header.size() + 9), size = std::to_string(8 + header.size() + 5);
  auto const r = read(st(header, 5));
  BOOST_TEST(bad_format(r, {"\"w\"", "truncated", end, size}));
}

// Case H07.
BOOST_AUTO_TEST_CASE(the_limit_of_the_header_is_checked_before_anything_is_allocated) {
  bytes const large{7'000'000'000};
  auto const first = std::string("\x40\x9d\xdf\x07\0\0\0\0", 8);
  BOOST_TEST(
      bad_format(header_length(bytes_of(first), large, "m"), {"132095296", "100000000", "header_limits::header"}));
  BOOST_TEST((*header_length(bytes_of(first), large, "m", {.header = bytes{200'000'000}}) == bytes{132095296}));
  auto const huge = std::string("\xff\xff\xff\xff\xff\xff\xff\x7f", 8);
  BOOST_TEST(bad_format(header_length(bytes_of(huge), large, "m"), {"9223372036854775807"}));
  BOOST_TEST(bad_format(header_length(bytes_of(huge), large, "m", {.header = bytes{~u64{}}}), {"7000000000"}));

  std::string const header = R"({"t":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  auto const file = st(header + std::string(1200 - header.size(), ' '), 8);
  BOOST_TEST(bad_format(read(file, {.header = bytes{1000}}), {"1000", "1200"}));
  BOOST_TEST(read(file, {.header = bytes{2000}}).has_value());
  BOOST_TEST(bad_format(parse_header(bytes_of(header), bytes{10}, object_id{}, "m"), {"54", "10"}));
}

BOOST_AUTO_TEST_CASE(a_length_that_cannot_be_is_refused) {
  BOOST_TEST(bad_format(read(""), {"at least 8 bytes", "a file of 0"}));
  BOOST_TEST(bad_format(read("1234567"), {"at least 8 bytes", "a file of 7"}));
  BOOST_TEST(bad_format(read(length_bytes(0)), {"a length of 0"}));
  BOOST_TEST(bad_format(read(length_bytes(1) + "{"), {"a length of 1"}));
  BOOST_TEST(bad_format(read(length_bytes(60)), {"a length of 60", "a file of 8"}));
  BOOST_TEST(bad_format(read(length_bytes(3) + "{}"), {"a length of 3", "a file of 10"}));
  BOOST_TEST(bad_format(read(length_bytes(0xffffff000000003c) + "{}"), {"18446742974197923900"}));
  BOOST_TEST(bad_format(read(length_bytes(100'000'001)), {"100000001", "100000000"}));
  BOOST_TEST(bad_format(read("version https://git-lfs"), {"\"version \"", "git lfs pull"}));
  BOOST_TEST(bad_format(read("<!DOCTYPE html>"), {"\"<!DOCTYP\"", "web site"}));
}

BOOST_AUTO_TEST_CASE(the_number_of_tensors_has_a_limit) {
  auto const file = [](std::string const& metadata) {
    return st("{" + metadata +
                  R"("a":{"dtype":"U8","shape":[],"data_offsets":[0,1]},)"
                  R"("b":{"dtype":"U8","shape":[],"data_offsets":[1,2]}})",
              2);
  };
  BOOST_TEST(read(file(R"("__metadata__":{},)"), {.tensors = 2}).has_value());
  BOOST_TEST(bad_format(read(file(""), {.tensors = 1}), {"at most 1", "header_limits::tensors"}));
  BOOST_TEST(bad_format(read(file(R"("__metadata__":{},)"), {.tensors = 1}), {"at most 1"}));
  BOOST_TEST(bad_format(read(file(""), {.tensors = 0}), {"at most 0", "found 2"}));
}

BOOST_AUTO_TEST_CASE(white_space_may_stand_around_the_object_and_nothing_else) {
  for (std::string const header : {"{}\r \t\n", "\t\n{}\r ", "{}", " {}"}) {
    auto const r = read(st(header, 0));
    BOOST_TEST_REQUIRE(r.has_value());
    BOOST_TEST(r->tensors.empty());
  }
  for (auto const& header : {std::string("{}\0", 3), std::string("{}x"), std::string("{}{}"), std::string("\f{}"),
                             std::string("\xef\xbb\xbf{}"), std::string("[]"), std::string("  "), std::string("null"),
                             std::string("\xff\xff"), std::string("{\"")})
    BOOST_TEST(bad_format(read(st(header, 0)), {"m.safetensors", "expected a JSON object"}));
  BOOST_TEST(bad_format(read(st("{}", 1)), {"names none", "1 byte after"}));
}

BOOST_AUTO_TEST_CASE(numbers_are_non_negative_integers_and_nothing_like_them) {
  auto const offset = [](std::string const& end) {
    return read(st(R"({"test":{"dtype":"I32","shape":[2,2],"data_offsets":[0,)" + end + "]}}", 16));
  };
  BOOST_TEST(offset("16").has_value());
  BOOST_TEST(bad_format(offset(" 4"), {"\"test\"", "16", "4"}));
  for (std::string const end : {"16.0", "1e1", "1.6e1", "-16", "\"16\"", "true", "null", "[16]"})
    BOOST_TEST(bad_format(offset(end), {"\"test\"", "data_offsets", "non-negative"}));
  BOOST_TEST(bad_format(offset("016"), {"number"}));
  BOOST_TEST(bad_format(offset("1234567890123456789"), {"\"test\"", "1234567890123456789"}));
  BOOST_TEST(bad_format(offset("99999999999999999999"), {"64 bits"}));
  BOOST_TEST(bad_format(offset("16,32"), {"\"test\"", "two data_offsets", "3"}));
  BOOST_TEST(bad_format(read(st(R"({"t":{"dtype":"U8","shape":[1],"data_offsets":[1]}})", 1)), {"\"t\"", "found 1"}));
  BOOST_TEST(
      bad_format(read(st(R"({"t":{"dtype":"U8","shape":[1],"data_offsets":[2,1]}})", 2)), {"\"t\"", "backwards"}));
  auto const extent = [](std::string const& n) {
    return read(st(R"({"test":{"dtype":"U8","shape":[)" + n + R"(],"data_offsets":[0,1]}})", 1));
  };
  BOOST_TEST(extent("1").has_value());
  for (std::string const n : {"-1", "1.0", "\"1\"", "null", "1e0"}) BOOST_TEST(bad_format(extent(n), {"non-negative"}));
}

BOOST_AUTO_TEST_CASE(zero_has_no_sign) {
  BOOST_TEST(bad_format(read(st(R"({"t":{"dtype":"U8","shape":[1],"data_offsets":[-0,1]}})", 1)), {"found -0"}));
  BOOST_TEST(bad_format(read(st(R"({"t":{"dtype":"U8","shape":[-0],"data_offsets":[0,0]}})", 0)), {"found -0"}));
}

BOOST_AUTO_TEST_CASE(a_name_may_look_like_a_negative_zero) {
  auto const r = read(st(R"({"a\"-0":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"[,-0":)"
                         R"({"dtype":"U8","shape":[1],"data_offsets":[1,2]}})",
                         2));
  BOOST_TEST(r.has_value());
}

BOOST_AUTO_TEST_CASE(sizes_that_overflow_are_refused) {
  auto const with = [](std::string const& type, std::string const& extents) {
    return read(st(R"({"test":{"dtype":")" + type + R"(","shape":)" + extents + R"(,"data_offsets":[0,16]}})", 16));
  };
  BOOST_TEST(bad_format(with("I32", "[2,18446744073709551614]"), {"\"test\"", "fits 64 bits"}));
  BOOST_TEST(bad_format(with("I32", "[2,9223372036854775807]"), {"\"test\"", "fits 64 bits"}));
  BOOST_TEST(bad_format(with("F4", "[4611686018427387905]"), {"\"test\"", "fits 64 bits"}));
  BOOST_TEST(
      bad_format(with("I32", "[0,18446744073709551615,18446744073709551615]"), {"\"test\"", "expected 0 bytes"}));
  BOOST_TEST(bad_format(with("I32", "4"), {"\"test\"", "shape", "an integer"}));
}

BOOST_AUTO_TEST_CASE(more_dimensions_than_the_library_has_are_an_error_that_says_so) {
  auto const with = [](int rank) {
    std::string extents = "1";
    for (int i = 1; i < rank; ++i) extents += ",1";
    return read(st(R"({"deep":{"dtype":"U8","shape":[)" + extents + R"(],"data_offsets":[0,1]}})", 1));
  };
  BOOST_TEST(with(8).has_value());
  BOOST_TEST(bad_format(with(9), {"\"deep\"", "at most 8", "found 9", "limit of this library"}));
  BOOST_TEST(bad_format(with(1000), {"found 1000"}));
}

BOOST_AUTO_TEST_CASE(an_unknown_dtype_is_named_with_those_there_are) {
  for (std::string const type : {"\"F33\"", "\"bf16\"", "\"any_float\"", "\"\"", "\"U8\\u0000\""})
    BOOST_TEST(bad_format(read(st(R"({"w":{"dtype":)" + type + R"(,"shape":[1],"data_offsets":[0,1]}})", 1)),
                          {"\"w\"", type, "F8_E4M3FNUZ"}));
  BOOST_TEST(bad_format(read(st(R"({"w":{"dtype":8,"shape":[1],"data_offsets":[0,1]}})", 1)), {"\"w\"", "an integer"}));
  BOOST_TEST(bad_format(read(st(R"({"w":3})", 0)), {"\"w\"", "an object", "an integer"}));
}

BOOST_AUTO_TEST_CASE(names_are_any_text_without_nul) {
  auto const named = [](std::string const& name) {
    return read(st("{\"" + name + R"(":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})", 1));
  };
  BOOST_TEST(named("").has_value());
  BOOST_TEST(named("../\\u00fc\xc3\xbc/\\n").has_value());
  BOOST_TEST(bad_format(named("a\\u0000b"), {R"(a\u0000b)", "without NUL"}));
  BOOST_TEST(bad_format(named("\\ud800"), {"surrogate"}));
  BOOST_TEST(bad_format(named("\xff"), {"UTF-8"}));
  BOOST_TEST(bad_format(named("\n"), {"control character"}));
}

BOOST_AUTO_TEST_CASE(messages_escape_control_characters_and_cut_long_names) {
  auto const wrong = [](std::string const& name) { return read(st("{\"" + name + "\":1}", 0)); };
  BOOST_TEST(bad_format(wrong("\\u001b[31m\\u009b"), {R"(\u001b[31m\u009b)"}));
  auto const r = wrong(std::string(5000, 'x'));
  BOOST_TEST(bad_format(r, {"(5000 bytes)"}));
  BOOST_TEST(r.error().message().size() < 400u);
  BOOST_TEST(detail::shown("\xc3\xbc\xc3\xbc", 3) == "\"\xc3\xbc\"... (4 bytes)");
}

BOOST_AUTO_TEST_CASE(deep_brackets_end_in_an_error) {
  auto const deep = std::string(1025, '[') + std::string(1025, ']');
  BOOST_TEST(bad_format(read(st(R"({"__metadata__":)" + deep + "}", 0)), {"1024 levels"}));
  BOOST_TEST(bad_format(read(st("{\"a\":" + std::string(5'000'000, '['), 0)), {"m.safetensors"}));
}

BOOST_AUTO_TEST_CASE(many_tensors_in_a_shuffled_order_come_out_by_offset) {
  constexpr u64 count = 5000;
  std::vector<u64> order(count);
  for (u64 i = 0; i < count; ++i) order[i] = i;
  std::shuffle(order.begin(), order.end(), std::mt19937{3});
  std::string header = "{";
  for (u64 const i : order)
    header += (header.size() > 1 ? ",\"t" : "\"t") + std::to_string(i) +
              R"(":{"dtype":"U16","shape":[3],"data_offsets":[)" + std::to_string(6 * i) + "," +
              std::to_string(6 * i + 6) + "]}";
  header += "}";
  auto const r = read(st(header, 6 * count));
  BOOST_TEST_REQUIRE(r.has_value());
  BOOST_TEST_REQUIRE(r->tensors.size() == count);
  bool good = true;
  for (u64 i = 0; i < count; ++i)
    good = good && r->tensors[i].name == "t" + std::to_string(i) &&
           r->tensors[i].where.first.count == 8 + header.size() + 6 * i;
  BOOST_TEST(good);
}

// Whatever a header says: it is refused, or what comes out tiles the file.
BOOST_AUTO_TEST_CASE(mutated_headers_are_refused_or_tile_the_file) {
  std::string const seed =
      st(R"({"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},)"
         R"("b.q":{"dtype":"F4","shape":[2,8],"data_offsets":[24,32]},)"
         R"("c":{"dtype":"I8","shape":[0],"data_offsets":[32,32]}})",
         32);
  constexpr std::string_view alphabet = "{}[]:,\"0123456789-+.eE\\ ubFIna_\x00\xff";
  std::mt19937 random{20};
  auto const below = [&](std::size_t n) { return std::uniform_int_distribution<std::size_t>{0, n - 1}(random); };
  unsigned accepted = 0, refused = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string file = seed;
    for (auto k = 1 + below(3); k > 0; --k) {
      auto const at = below(file.size());
      switch (below(4)) {
        case 0: file.erase(at, 1 + below(3)); break;
        case 1: file.insert(at, 1, alphabet[below(alphabet.size())]); break;
        case 2: file.insert(at, file.substr(below(file.size()), below(20))); break;
        default: file[at] = alphabet[below(alphabet.size())];
      }
    }
    if (below(2) && file.size() > 40) file = st(std::string_view{file}.substr(8, file.size() - 40), 32);
    auto const r = read(file);
    if (!r) {
      ++refused;
      continue;
    }
    ++accepted;
    u64 at = 0, header = 0;
    for (unsigned i = 0; i < 8; ++i) header |= static_cast<u64>(static_cast<u8>(file[i])) << (8 * i);
    at = 8 + header;
    for (auto const& t : r->tensors) {
      BOOST_REQUIRE(t.where.first.count == at && t.shape.size(t.type) == t.where.size);
      at += t.where.size.count;
    }
    BOOST_REQUIRE(at == file.size());
  }
  BOOST_TEST(accepted > 100u);
  BOOST_TEST(refused > 1000u);
}
BOOST_AUTO_TEST_SUITE_END()
