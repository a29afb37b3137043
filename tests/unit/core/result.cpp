#include <boost/test/unit_test.hpp>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include <penstock/core/result.hpp>

using namespace penstock;

namespace {
result<int> half(int n) {
  if (n % 2) return error{error_kind::usage, "odd"};
  return n / 2;
}
result<void> done(bool well) {
  if (well) return {};
  return error{error_kind::io, "full"};
}
template <class R> concept arrow = requires(R r) { static_cast<R>(r).operator->(); };
}  // namespace

BOOST_AUTO_TEST_SUITE(core_result)

BOOST_AUTO_TEST_CASE(it_holds_a_value_or_the_error) {
  auto const good = half(4), bad = half(3);
  BOOST_TEST_REQUIRE(good.has_value());
  BOOST_TEST(*good == 2);
  BOOST_TEST(good.value() == 2);
  BOOST_TEST(!bad);
  BOOST_TEST((bad.error().kind() == error_kind::usage));
}

BOOST_AUTO_TEST_CASE(value_throws_the_error_that_is_there) {
  auto const odd = [](error const& e) { return e.kind() == error_kind::usage && e.message() == "odd"; };
  BOOST_CHECK_EXCEPTION(static_cast<void>(half(3).value()), error, odd);
  auto bad = half(3);
  BOOST_CHECK_EXCEPTION(static_cast<void>(bad.value()), error, odd);
  BOOST_CHECK_EXCEPTION(static_cast<void>(std::as_const(bad).value()), error, odd);
  BOOST_CHECK_EXCEPTION(done(false).value(), error, [](error const& e) { return e.message() == "full"; });
  BOOST_CHECK_NO_THROW(done(true).value());
}

BOOST_AUTO_TEST_CASE(no_reference_into_a_temporary_exists) {
  static_assert(std::is_same_v<decltype(half(2).value()), int>);
  static_assert(std::is_same_v<decltype(*half(2)), int>);
  static_assert(std::is_same_v<decltype(half(2).error()), error>);
  static_assert(!arrow<result<std::string>>);
  static_assert(arrow<result<std::string>&>);
  auto const text = result<std::string>{std::string(100, 'x')}.value();
  BOOST_TEST(text.size() == 100u);
}

BOOST_AUTO_TEST_CASE(a_value_may_be_one_that_only_moves) {
  result<std::unique_ptr<int>> r{std::make_unique<int>(7)};
  auto const moved = std::move(r).value();
  BOOST_TEST(*moved == 7);
  static_assert(!std::is_copy_constructible_v<result<std::unique_ptr<int>>>);
}

BOOST_AUTO_TEST_CASE(a_result_without_value_is_one_pointer) {
  static_assert(sizeof(result<void>) == sizeof(void*));
  BOOST_TEST(done(true).has_value());
  auto const failed = done(false);
  BOOST_TEST_REQUIRE(!failed.has_value());
  BOOST_TEST(failed.error().message() == "full");
}
BOOST_AUTO_TEST_SUITE_END()
