#include <array>
#include <boost/test/unit_test.hpp>

#include <penstock/quant/none.hpp>

using namespace penstock;

BOOST_AUTO_TEST_SUITE(quant_none)

BOOST_AUTO_TEST_CASE(plain_numbers_are_one_tensor_of_n_rows_and_k_columns) {
  constexpr auto const& parts = quant::none::linear.list;
  BOOST_TEST(parts.size() == 1u);
  BOOST_TEST(parts[0].suffix == ".weight");
  BOOST_TEST((parts[0].type == dtype::any_float && parts[0].what == quant::part::payload && !parts[0].optional));
  BOOST_TEST((parts[0].axes[0].of == quant::axis::out_features && parts[0].axes[1].of == quant::axis::in_features));
}

BOOST_AUTO_TEST_CASE(plain_numbers_are_given_as_they_are) {
  std::array<float, 4> const stored{1.5f, -2.0f, 0.0f, 3.0e38f};
  std::array<float, 6> given{};
  stored_rows rows{.n = 2, .k = 2, .first = 0, .count = 2, .type = dtype::f32};
  rows.payload = reinterpret_cast<std::byte const*>(stored.data());
  quant::none::dequantise(rows, given.data() + 1);
  for (std::size_t i = 0; i < stored.size(); ++i) BOOST_TEST(given[i + 1] == stored[i]);
  BOOST_TEST((given.front() == 0.0f && given.back() == 0.0f));
}

BOOST_AUTO_TEST_SUITE_END()
