#include <penstock/core/result.hpp>

#include <cstdio>

// Warnings that the library holds itself to are not for its users: an unused parameter and a narrowing are fine here.
static penstock::result<short> half(int value, int) {
  if (value % 2) return penstock::error{penstock::error_kind::usage, "expected an even number"};
  short half = value / 2;
  return half;
}

int main() {
  std::printf("%d\n", half(42, 0).value());
  return half(42, 0).value() == 21 && half(1, 0).error().kind() == penstock::error_kind::usage ? 0 : 1;
}
