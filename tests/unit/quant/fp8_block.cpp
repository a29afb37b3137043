#include <array>
#include <boost/test/unit_test.hpp>

#include <penstock/quant/fp8_block.hpp>

using namespace penstock;

BOOST_AUTO_TEST_SUITE(quant_fp8_block)

BOOST_AUTO_TEST_CASE(a_scale_covers_a_block_whose_size_the_config_says_and_the_last_may_be_incomplete) {
  constexpr auto const& scale = quant::fp8_block::linear.list[1];
  BOOST_TEST((scale.type == dtype::f32 && scale.what == quant::part::scale));
  BOOST_TEST((scale.axes[0].ragged && scale.axes[0].per == dim{"weight_block_size.0"}));
  BOOST_TEST((scale.axes[1].ragged && scale.axes[1].per == dim{"weight_block_size.1"}));
}

BOOST_AUTO_TEST_CASE(it_is_declared_by_fp8_with_blocks) {
  quant_declaration d;
  d.method = "fp8";
  BOOST_TEST(!quant::fp8_block::declared(d));  // one scale for a tensor
  d.weight_block_size = {128, 128};
  BOOST_TEST(quant::fp8_block::declared(d));
  BOOST_TEST((d.number("weight_block_size.0") == 128u && !d.number("weight_block_size.2") && !d.number("bits")));
  d.format = "e5m2";
  BOOST_TEST(!quant::fp8_block::declared(d));
  d.format = "float8_e4m3fn";
  BOOST_TEST(quant::fp8_block::declared(d));
  for (std::string const scheme : {"dynamic", "static"}) {  // static activations have scales that nothing here reads
    d.activation = scheme;
    BOOST_TEST(quant::fp8_block::declared(d) == (scheme == "dynamic"));
  }
  d.activation.clear();
  d.method = "compressed-tensors";
  BOOST_TEST(!quant::fp8_block::declared(d));
}

// Case H24: blocks of 4 x 4, weight [9, 6], scales [3, 2] with entry (i, j) = 10 i + j + 1.
BOOST_AUTO_TEST_CASE(each_number_is_multiplied_by_the_scale_of_its_block) {
  std::array<std::byte, 54> weight;
  weight.fill(std::byte{0x38});  // 1
  std::array<float, 6> scales{};
  for (unsigned i = 0; i < 6; ++i) scales[i] = static_cast<float>(10 * (i / 2) + i % 2 + 1);
  stored_rows rows{.n = 9, .k = 6, .first = 0, .count = 9, .type = dtype::f8_e4m3, .payload = weight.data()};
  rows.sides[0] = reinterpret_cast<std::byte const*>(scales.data());
  rows.unit = {4, 4};
  std::array<float, 54> out{};
  quant::fp8_block::dequantise(rows, out.data());
  BOOST_TEST(out[3 * 6 + 3] == 1.0f);
  BOOST_TEST(out[4 * 6 + 3] == 11.0f);
  BOOST_TEST(out[8 * 6 + 5] == 22.0f);

  rows.first = 8, rows.count = 1, rows.payload = weight.data() + 48;  // the last row alone
  quant::fp8_block::dequantise(rows, out.data());
  BOOST_TEST((out[0] == 21.0f && out[3] == 21.0f && out[4] == 22.0f));
}

BOOST_AUTO_TEST_SUITE_END()
