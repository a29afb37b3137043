#include <penstock/device/device.hpp>

#include <boost/test/unit_test.hpp>

using namespace penstock;

namespace {
/// The least that a device can be.
struct least_device {
  struct staging {};
  struct event {
    result<bool> done() { return true; }
    result<void> wait() { return {}; }
  };
  struct stream {
    result<void> copy(std::span<copy_op const>) { return {}; }
    result<void> mark(event&) { return {}; }
  };
  template <memory M>
  static constexpr bool writes = true;
  result<staging> stage(bytes) { return staging{}; }
  result<stream> open_stream() { return stream{}; }
  bool reaches(std::byte const*) { return false; }
  result<void> bind() { return {}; }
};
struct without_marks : least_device {
  struct stream {
    result<void> copy(std::span<copy_op const>) { return {}; }
  };
  result<stream> open_stream() { return stream{}; }
};
}  // namespace

BOOST_AUTO_TEST_SUITE(device_device)

BOOST_AUTO_TEST_CASE(the_least_device_is_one_and_needs_marks) {
  BOOST_TEST(device_backend<least_device>);
  BOOST_TEST(penstock::detail::check_device<least_device>());
  BOOST_TEST(!device_backend<without_marks>);
}

BOOST_AUTO_TEST_SUITE_END()
