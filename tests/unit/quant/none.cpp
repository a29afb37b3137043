#include <array>
#include <boost/test/unit_test.hpp>

#include <penstock/quant/none.hpp>
#include <penstock/tensor/lease.hpp>

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
  std::array<std::byte, 6> const stored{std::byte{1}, std::byte{2}, std::byte{0xff},
                                        std::byte{4}, std::byte{5}, std::byte{6}};
  std::array<std::byte, 8> given{};
  detail::loans slot;
  slot.lend(stored.data(), bytes{stored.size()}, [&](borrowed_tensor const& rows) {
    quant::none::dequantise::kept nothing;
    quant::none::dequantise::finish(nothing, rows, given.data() + 1);
  });
  for (std::size_t i = 0; i < stored.size(); ++i) BOOST_TEST((given[i + 1] == stored[i]));
  BOOST_TEST((given.front() == std::byte{0} && given.back() == std::byte{0}));
}

BOOST_AUTO_TEST_SUITE_END()
