#include <penstock/tensor/owned.hpp>

#include <boost/test/unit_test.hpp>
#include <cstring>
#include <type_traits>
#include <utility>

using namespace penstock;

namespace {
struct counted {
  static inline int alive = 0;
  static inline std::size_t released = 0;
  static constexpr memory_space space = memory_space::host;
  static void* allocate(std::size_t n) noexcept { return ++alive, host_memory::allocate(n); }
  static void release(void* p, std::size_t n) noexcept { --alive, released = n, host_memory::release(p, n); }
};
struct empty_handed : counted {
  static void* allocate(std::size_t) noexcept { return nullptr; }
};
template <class T> concept has_data = requires(T&& t) { std::forward<T>(t).data(); };
}  // namespace

BOOST_AUTO_TEST_SUITE(tensor_owned)

BOOST_AUTO_TEST_CASE(an_owned_tensor_moves_and_does_not_copy) {
  BOOST_TEST(!std::is_copy_constructible_v<owned_tensor<host_memory>>);
  BOOST_TEST(!std::is_copy_assignable_v<owned_tensor<host_memory>>);
  BOOST_TEST(std::is_nothrow_move_constructible_v<owned_tensor<host_memory>>);
}

BOOST_AUTO_TEST_CASE(the_bytes_of_a_temporary_cannot_be_taken) {
  BOOST_TEST(has_data<owned_tensor<host_memory>&>);
  BOOST_TEST(has_data<owned_tensor<host_memory> const&>);
  BOOST_TEST(!has_data<owned_tensor<host_memory>>);
  BOOST_TEST(!has_data<owned_tensor<host_memory> const>);
}

BOOST_AUTO_TEST_CASE(memory_goes_back_once_with_its_size) {
  {
    auto t = owned_tensor<counted>::allocate(bytes{100});
    BOOST_REQUIRE(t);
    std::memset(t->data(), 1, 100);
    owned_tensor<counted> other = std::move(*t);
    BOOST_TEST(other.size().count == 100u);
    BOOST_TEST(counted::alive == 1);
  }
  BOOST_TEST(counted::alive == 0);
  BOOST_TEST(counted::released == 100u);
}

BOOST_AUTO_TEST_CASE(no_memory_is_an_error_that_names_the_bytes) {
  auto const t = owned_tensor<empty_handed>::allocate(bytes{12345});
  BOOST_REQUIRE(!t);
  BOOST_TEST((t.error().kind() == error_kind::memory));
  BOOST_TEST(t.error().message().find("12345") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_tuple_is_all_owned_only_if_each_member_is) {
  BOOST_TEST((all_owned<std::tuple<owned_tensor<host_memory>, owned_tensor<counted>>>));
  BOOST_TEST((!all_owned<std::tuple<owned_tensor<host_memory>, std::byte*>>));
  BOOST_TEST(!all_owned<owned_tensor<host_memory>>);
}

BOOST_AUTO_TEST_SUITE_END()
