// error: unsigned int. to .*bytes
#include <penstock/core/bytes.hpp>

void read(penstock::bytes size);

void f(unsigned elements) {
#ifdef COMPILE_FAIL
  read(elements);
#else
  read(penstock::bytes{elements});
#endif
}
