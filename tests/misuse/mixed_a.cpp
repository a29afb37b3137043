// The half of a program that lends. It links with mixed_b.cpp where both are checked, or both are not.
#include "mixed.hpp"

int main() {
  penstock::detail::loans slots;
  std::byte const weight{1};
  return static_cast<int>(
      slots.lend(&weight, penstock::bytes{1}, [](penstock::borrowed_tensor const& t) { return look(t); }));
}
