#include <penstock/device/copy_past_cache.hpp>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <vector>

using penstock::detail::copy_past_cache;

BOOST_AUTO_TEST_SUITE(device_copy_past_cache)

BOOST_AUTO_TEST_CASE(every_byte_arrives_and_no_other_changes_wherever_places_begin_and_end) {
  constexpr std::size_t margin = 200, most = 3 * copy_past_cache::least;
  std::vector<std::byte> from(most + 2 * margin), to(from.size());
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::byte>(i * 7 % 251);
  auto const untouched = std::byte{0xee};
  for (std::size_t const size : {std::size_t{0}, std::size_t{1}, std::size_t{63}, copy_past_cache::least - 1,
                                 copy_past_cache::least, copy_past_cache::least + 65, most})
    for (unsigned const askew : {0u, 1u, 15u, 16u, 24u, 63u, 64u, 129u})
      for (unsigned const at : {0u, 1u, 8u, 31u, 32u, 63u, 64u, 100u}) {
        std::fill(to.begin(), to.end(), untouched);
        copy_past_cache{}(to.data() + at, from.data() + askew, size);
        auto const first = to.begin() + at, last = first + static_cast<std::ptrdiff_t>(size);
        bool const whole = std::equal(first, last, from.begin() + askew);
        bool const alone = std::all_of(to.begin(), first, [&](std::byte b) { return b == untouched; }) &&
                           std::all_of(last, to.end(), [&](std::byte b) { return b == untouched; });
        BOOST_TEST((whole && alone), size << " bytes from " << askew << " to " << at);
      }
}

BOOST_AUTO_TEST_SUITE_END()
