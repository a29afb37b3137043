#pragma once
#include <penstock/tensor/lease.hpp>

/// Looks at a loan. Defined in mixed_b.cpp, called in mixed_a.cpp.
unsigned long look(penstock::borrowed_tensor const& t);
