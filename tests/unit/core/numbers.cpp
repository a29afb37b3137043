#include <array>
#include <boost/test/unit_test.hpp>
#include <cmath>

#include <penstock/core/numbers.hpp>

using namespace penstock;

BOOST_AUTO_TEST_SUITE(core_numbers)

BOOST_AUTO_TEST_CASE(e4m3_has_the_values_of_its_specification) {
  BOOST_TEST(float_of_e4m3(0x00) == 0.0f);
  BOOST_TEST(std::signbit(float_of_e4m3(0x80)));
  BOOST_TEST(float_of_e4m3(0x01) == 0x1p-9f);
  BOOST_TEST(float_of_e4m3(0x07) == 7 * 0x1p-9f);
  BOOST_TEST(float_of_e4m3(0x08) == 0x1p-6f);
  BOOST_TEST(float_of_e4m3(0x38) == 1.0f);
  BOOST_TEST(float_of_e4m3(0x40) == 2.0f);
  BOOST_TEST(float_of_e4m3(0x7e) == 448.0f);
  BOOST_TEST(float_of_e4m3(0xfe) == -448.0f);
  BOOST_TEST((std::isnan(float_of_e4m3(0x7f)) && std::isnan(float_of_e4m3(0xff))));
  unsigned finite = 0;
  for (unsigned x = 0; x < 256; ++x) finite += std::isfinite(float_of_e4m3(static_cast<u8>(x)));
  BOOST_TEST(finite == 254u);
}

BOOST_AUTO_TEST_CASE(e4m3_rises_with_its_bits) {
  for (u8 x = 0; x < 0x7e; ++x) BOOST_TEST_REQUIRE(float_of_e4m3(x) < float_of_e4m3(static_cast<u8>(x + 1)));
}

BOOST_AUTO_TEST_CASE(binary16_has_subnormals_infinities_and_nan) {
  BOOST_TEST(float_of_f16(0x3c00) == 1.0f);
  BOOST_TEST(float_of_f16(0xc000) == -2.0f);
  BOOST_TEST(float_of_f16(0x7bff) == 65504.0f);
  BOOST_TEST(float_of_f16(0x0001) == 0x1p-24f);
  BOOST_TEST(float_of_f16(0x0400) == 0x1p-14f);
  BOOST_TEST((std::isinf(float_of_f16(0x7c00)) && std::isnan(float_of_f16(0x7e00))));
}

BOOST_AUTO_TEST_CASE(every_bf16_comes_back_as_it_was) {
  for (unsigned x = 0; x < 65536; ++x) {
    float const f = float_of_bf16(static_cast<u16>(x));
    if (std::isnan(f)) BOOST_TEST_REQUIRE(std::isnan(float_of_bf16(bf16_of_float(f))));
    else BOOST_TEST_REQUIRE(bf16_of_float(f) == x);
  }
}

BOOST_AUTO_TEST_CASE(a_float_becomes_the_nearest_bf16_and_the_even_one_of_two) {
  BOOST_TEST(bf16_of_float(1.0f + 0x1p-8f) == 0x3f80);             // halfway, 0x3f80 is even
  BOOST_TEST(bf16_of_float(1.0f + 0x1p-7f + 0x1p-8f) == 0x3f82);   // halfway, 0x3f81 is odd
  BOOST_TEST(bf16_of_float(1.0f + 0x1p-8f + 0x1p-20f) == 0x3f81);  // above
  BOOST_TEST(bf16_of_float(3.4e38f) == 0x7f80);                    // above the largest: infinity
  BOOST_TEST(bf16_of_float(-0.0f) == 0x8000);
}

BOOST_AUTO_TEST_CASE(plain_floats_are_read_at_any_address) {
  std::array<std::byte, 9> stored{};
  u16 const halves[] = {0x3f80, 0xc000};
  std::memcpy(stored.data() + 1, halves, sizeof halves);
  float out[2];
  floats_of(dtype::bf16, stored.data() + 1, 2, out);
  BOOST_TEST((out[0] == 1.0f && out[1] == -2.0f));
  floats_of(dtype::f16, stored.data() + 1, 2, out);
  BOOST_TEST((out[0] == 1.875f && out[1] == -2.0f));
  float const whole[] = {0.5f, 3.0f};
  std::memcpy(stored.data() + 1, whole, sizeof whole);
  floats_of(dtype::f32, stored.data() + 1, 2, out);
  BOOST_TEST((out[0] == 0.5f && out[1] == 3.0f));
}

BOOST_AUTO_TEST_SUITE_END()
