// The half of a program that looks at what it was lent.
#include "mixed.hpp"

unsigned long look(penstock::borrowed_tensor const& t) { return t.size().count - 1; }
