// error: it_ends_with_its_lease__keep_to_owned_instead
// error(clang): deleted constructor of .*borrowed_tensor
// guard: borrowed_is_pinned
#include <optional>
#include <penstock/tensor/borrowed.hpp>

// emplace() makes its value in place from what a conversion returns, so it needs neither copy nor move; but no function
// can return a loan.
struct half {
  penstock::borrowed_tensor const& whole;
#ifdef COMPILE_FAIL
  operator penstock::borrowed_tensor() const { return whole; }
#else
  operator std::size_t() const { return whole.size().count / 2; }
#endif
};

void look(penstock::borrowed_tensor const& t) {
#ifdef COMPILE_FAIL
  std::optional<penstock::borrowed_tensor> kept;
#else
  std::optional<std::size_t> kept;
#endif
  kept.emplace(half{t});
}
