// error: operator\+.*bytes|invalid operands.*bytes
#include <penstock/core/bytes.hpp>

penstock::bytes end(penstock::bytes first, unsigned elements) {
#ifdef COMPILE_FAIL
  return first + elements;
#else
  return first + elements * penstock::bytes{2};
#endif
}
