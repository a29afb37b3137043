#include <boost/test/unit_test.hpp>
#include <string_view>

#include <penstock/core/dtype.hpp>

using namespace penstock;

BOOST_AUTO_TEST_SUITE(core_dtype)

BOOST_AUTO_TEST_CASE(each_dtype_of_safetensors_has_its_name_and_bits) {
  struct row {
    std::string_view name;
    dtype type;
    unsigned bits;
  };
  constexpr row rows[] = {
      {"BOOL", dtype::boolean, 8},
      {"F4", dtype::f4, 4},
      {"F6_E2M3", dtype::f6_e2m3, 6},
      {"F6_E3M2", dtype::f6_e3m2, 6},
      {"U8", dtype::uint8, 8},
      {"I8", dtype::int8, 8},
      {"F8_E5M2", dtype::f8_e5m2, 8},
      {"F8_E4M3", dtype::f8_e4m3, 8},
      {"F8_E8M0", dtype::f8_e8m0, 8},
      {"F8_E4M3FNUZ", dtype::f8_e4m3fnuz, 8},
      {"F8_E5M2FNUZ", dtype::f8_e5m2fnuz, 8},
      {"I16", dtype::int16, 16},
      {"U16", dtype::uint16, 16},
      {"F16", dtype::f16, 16},
      {"BF16", dtype::bf16, 16},
      {"I32", dtype::int32, 32},
      {"U32", dtype::uint32, 32},
      {"F32", dtype::f32, 32},
      {"C64", dtype::c64, 64},
      {"F64", dtype::f64, 64},
      {"I64", dtype::int64, 64},
      {"U64", dtype::uint64, 64},
  };
  BOOST_TEST(std::size(rows) + 1 == detail::dtype_rows.size());
  for (auto const& r : rows) {
    BOOST_TEST(name_of(r.type) == r.name);
    BOOST_TEST(bits_of(r.type) == r.bits, r.name);
    BOOST_TEST((dtype_named(r.name) == r.type), r.name);
  }
}

BOOST_AUTO_TEST_CASE(a_name_that_is_no_dtype_gives_any_float) {
  for (std::string_view name : {"", "bf16", "any_float", "F33", "BF16 ", "FLOAT"})
    BOOST_TEST((dtype_named(name) == dtype::any_float), name);
  BOOST_TEST(bits_of(dtype::any_float) == 0u);
}

BOOST_AUTO_TEST_CASE(any_float_stands_for_the_three_plain_floats_only) {
  for (unsigned i = 1; i < detail::dtype_rows.size(); ++i) {
    auto const t = static_cast<dtype>(i);
    bool const plain = t == dtype::bf16 || t == dtype::f16 || t == dtype::f32;
    BOOST_TEST(is_plain_float(t) == plain, name_of(t));
    BOOST_TEST(fits(dtype::any_float, t) == plain, name_of(t));
    BOOST_TEST(fits(t, t));
    BOOST_TEST(fits(dtype::bf16, t) == (t == dtype::bf16), name_of(t));
  }
}
BOOST_AUTO_TEST_SUITE_END()
