#include <penstock/tensor/memory.hpp>

#include <boost/test/unit_test.hpp>
#include <cstdint>

namespace {
struct least_memory {
  static constexpr penstock::memory_space space = penstock::memory_space::host;
  static void* allocate(std::size_t) noexcept { return nullptr; }
  static void release(void*, std::size_t) noexcept {}
};
struct may_throw : least_memory {
  static void* allocate(std::size_t) { return nullptr; }
};
struct nowhere {
  static void* allocate(std::size_t) noexcept { return nullptr; }
  static void release(void*, std::size_t) noexcept {}
};
}  // namespace

BOOST_AUTO_TEST_SUITE(tensor_memory)

BOOST_AUTO_TEST_CASE(a_memory_is_two_functions_that_do_not_throw_and_a_space) {
  BOOST_TEST(penstock::memory<least_memory>);
  BOOST_TEST(!penstock::memory<may_throw>);
  BOOST_TEST(!penstock::memory<nowhere>);
}

BOOST_AUTO_TEST_CASE(host_memory_is_aligned_to_64_bytes_also_for_nothing) {
  for (std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{4097}}) {
    void* const p = penstock::host_memory::allocate(n);
    BOOST_REQUIRE(p);
    BOOST_TEST(reinterpret_cast<std::uintptr_t>(p) % 64 == 0u);
    penstock::host_memory::release(p, n);
  }
}

BOOST_AUTO_TEST_SUITE_END()
