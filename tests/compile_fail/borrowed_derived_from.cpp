// error: base .*borrowed_tensor.*final|final.*borrowed_tensor
#include <penstock/tensor/borrowed.hpp>

// A base that is `final` cannot be given a copy constructor from below.
#ifdef COMPILE_FAIL
struct mine : penstock::borrowed_tensor {};
#else
struct mine {
  penstock::borrowed_tensor const& loan;
};
#endif
void look(mine const&);
