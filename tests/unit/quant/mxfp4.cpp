#include <array>
#include <boost/test/unit_test.hpp>

#include <penstock/quant/mxfp4.hpp>

using namespace penstock;

BOOST_AUTO_TEST_SUITE(quant_mxfp4)

BOOST_AUTO_TEST_CASE(four_bits_are_a_sign_and_one_of_eight_sizes) {
  float const sizes[] = {0.0f, 0.5f, 1.0f, 1.5f, 2.0f, 3.0f, 4.0f, 6.0f};
  for (u8 i = 0; i < 8; ++i)
    BOOST_TEST((float_of_e2m1(i) == sizes[i] && float_of_e2m1(static_cast<u8>(i + 8)) == -sizes[i]));
  BOOST_TEST(float_of_e2m1(0xf1) == 0.5f);  // the upper half is somebody else's
  BOOST_TEST((float_of_e8m0(127) == 1.0f && float_of_e8m0(130) == 8.0f && float_of_e8m0(0) == 0x1p-127f));
  BOOST_TEST(float_of_e8m0(0xff) != float_of_e8m0(0xff));
}

// Two rows of 64: blocks of 32 with one power of two each, the even number in the low half of a byte.
BOOST_AUTO_TEST_CASE(each_number_is_multiplied_by_the_power_of_its_block) {
  std::array<std::byte, 64> blocks;
  blocks.fill(std::byte{0x42});       // 1, then 2
  blocks[32 + 31] = std::byte{0x9e};  // the last pair of row 1: -4, -0.5
  std::array<std::byte, 4> const scales{std::byte{127}, std::byte{128}, std::byte{126}, std::byte{129}};
  stored_rows rows{.n = 2, .k = 64, .first = 0, .count = 2, .type = dtype::uint8, .payload = blocks.data()};
  rows.sides[0] = scales.data();
  std::array<float, 128> out{};
  quant::mxfp4::dequantise(rows, out.data());
  BOOST_TEST((out[0] == 1.0f && out[1] == 2.0f && out[31] == 2.0f && out[32] == 2.0f && out[63] == 4.0f));
  BOOST_TEST((out[64] == 0.5f && out[65] == 1.0f && out[96] == 4.0f && out[126] == -16.0f && out[127] == -2.0f));
  rows.first = 1, rows.count = 1, rows.payload = blocks.data() + 32;
  quant::mxfp4::dequantise(rows, out.data());
  BOOST_TEST((out[0] == 0.5f && out[62] == -16.0f));
}

BOOST_AUTO_TEST_SUITE_END()
