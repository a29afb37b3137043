#include <array>
#include <boost/test/unit_test.hpp>
#include <span>
#include <vector>

#include <penstock/quant/wna16.hpp>

using namespace penstock;

namespace {
/// CRC-32 of IEEE 802.3.
u32 crc_of(std::span<std::byte const> data) {
  u32 crc = ~u32{};
  for (auto const b : data) {
    crc ^= static_cast<u32>(b);
    for (int i = 0; i < 8; ++i) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
  }
  return ~crc;
}
quant_declaration kimi() {
  quant_declaration d;
  d.method = "compressed-tensors", d.format = "pack-quantized", d.bits = 4, d.group_size = 32, d.groups = 1;
  d.group = {{"targets", "[\"Linear\"]"},       {"input_activations", "null"}, {"weights.num_bits", "4"},
             {"weights.type", "\"int\""},       {"weights.dynamic", "false"},  {"weights.actorder", "null"},
             {"weights.strategy", "\"group\""}, {"weights.symmetric", "true"}};
  return d;
}
/// Numbers u[k][n] of a K x N matrix, packed along K.
std::vector<u32> packed(unsigned bits, unsigned rows, unsigned k, auto number) {
  unsigned const in_word = 32 / bits;
  std::vector<u32> words(std::size_t{rows} * (k / in_word));
  for (unsigned n = 0; n < rows; ++n)
    for (unsigned i = 0; i < k; ++i)
      words[n * (k / in_word) + i / in_word] |= static_cast<u32>(number(i, n)) << bits * (i % in_word);
  return words;
}
unsigned q4(unsigned k, unsigned n) { return (7 * k + 3 * n + k * n / 5) % 16; }
unsigned q8(unsigned k, unsigned n) { return (37 * k + 11 * n + k * n / 3) % 256; }
}  // namespace

BOOST_AUTO_TEST_SUITE(quant_wna16)

// The golden vector of K 32, N 128: the words that compressed-tensors writes, and the numbers they stand for.
BOOST_AUTO_TEST_CASE(words_of_four_bits_are_numbers_around_eight_times_the_scale_of_their_group) {
  auto const words = packed(4, 128, 32, q4);
  BOOST_TEST(words[0] == 0x1a3c5e70u);
  BOOST_TEST(crc_of(std::as_bytes(std::span{words})) == 0xff31566au);
  std::vector<u16> scales(128 * 2);  // BF16: powers of two; groups of 16
  for (std::size_t i = 0; i < scales.size(); ++i) scales[i] = static_cast<u16>((120 + i % 16) << 7);
  stored_rows rows{.n = 128, .k = 32, .first = 5, .count = 3, .type = dtype::int32};
  rows.payload = std::as_bytes(std::span{words}).data() + 5 * 16;
  rows.sides[0] = std::as_bytes(std::span{scales}).data();
  rows.unit = {1, 16}, rows.packed = 8, rows.side_type = dtype::bf16;
  std::vector<float> out(3 * 32);
  quant::wna16::dequantise(rows, out.data());
  for (unsigned n = 0; n < 3; ++n)
    for (unsigned k = 0; k < 32; ++k)
      BOOST_TEST(out[n * 32 + k] ==
                 (static_cast<float>(q4(k, n + 5)) - 8.0f) * float_of_bf16(scales[(n + 5) * 2 + k / 16]));
}

BOOST_AUTO_TEST_CASE(words_of_eight_bits_are_numbers_around_128_times_the_scale_of_their_row) {
  auto const words = packed(8, 6, 32, q8);
  std::vector<float> const scales{0.5f, 0.25f, 2.0f, 3.0f, 1.0f, -1.0f};
  stored_rows rows{.n = 6, .k = 31, .first = 0, .count = 6, .type = dtype::int32};  // the last word is not full
  rows.payload = std::as_bytes(std::span{words}).data(), rows.sides[0] = std::as_bytes(std::span{scales}).data();
  rows.unit = {1, 31}, rows.packed = 4, rows.side_type = dtype::f32;
  std::vector<float> out(6 * 31);
  quant::wna16_channel::dequantise(rows, out.data());
  for (unsigned n = 0; n < 6; ++n)
    for (unsigned k = 0; k < 31; ++k)
      BOOST_TEST(out[n * 31 + k] == (static_cast<float>(q8(k, n)) - 128.0f) * scales[n]);
}

BOOST_AUTO_TEST_CASE(it_is_declared_by_packed_words_with_groups_or_rows) {
  auto d = kimi();
  BOOST_TEST((quant::wna16::declared(d) && !quant::wna16_channel::declared(d)));
  BOOST_TEST((d.number("values_in_word") == 8u));
  d.bits = 8;
  BOOST_TEST((d.number("values_in_word") == 4u));
  d.group_size.reset();
  BOOST_TEST((!quant::wna16::declared(d) && quant::wna16_channel::declared(d)));
  d.format = "float-quantized";
  BOOST_TEST(!quant::wna16_channel::declared(d));
}

BOOST_AUTO_TEST_CASE(what_it_does_not_read_is_told_with_what_it_would) {
  BOOST_TEST(quant::wna16::unreadable(kimi()) == "");
  auto const with = [](std::string_view key, std::string value) {
    auto d = kimi();
    for (auto& [name, found] : d.group)
      if (name == key) found = std::move(value);
    return quant::wna16::unreadable(d);
  };
  BOOST_TEST(with("weights.symmetric", "false") == "expected weights.symmetric = true, found false");
  BOOST_TEST(with("weights.type", "\"float\"") == "expected weights.type = \"int\", found \"float\"");
  BOOST_TEST(with("weights.strategy", "\"tensor\"") == "expected weights.strategy = \"group\", found \"tensor\"");
  BOOST_TEST(with("targets", "[\"re:.*experts.*\"]").find("[\"Linear\"]") != std::string::npos);
  BOOST_TEST(with("input_activations", "an object").find("input_activations = null") != std::string::npos);
  BOOST_TEST(with("weights.actorder", "\"group\"").find("weights.actorder") != std::string::npos);
  BOOST_TEST(with("weights.actorder", "\"static\"") == "");
  auto d = kimi();
  d.groups = 2;
  BOOST_TEST(quant::wna16::unreadable(d) == "expected one group in config_groups, found 2");
  d = kimi(), d.bits = 3;
  BOOST_TEST(quant::wna16::unreadable(d) == "expected 4 or 8 bits, found 3");
}

BOOST_AUTO_TEST_SUITE_END()
