// error: no matching function.*bit_cast.*borrowed_tensor
// error(clang): trivially_copyable.*borrowed_tensor
// guard: borrowed_is_pinned
#include <array>
#include <bit>
#include <penstock/tensor/borrowed.hpp>

void look(penstock::borrowed_tensor const& t) {
#ifdef COMPILE_FAIL
  auto const kept = std::bit_cast<std::array<std::byte, sizeof(penstock::borrowed_tensor)>>(t);
#else
  auto const kept = std::bit_cast<std::array<std::byte, sizeof(penstock::bytes)>>(t.size());
#endif
  (void)kept;
}
