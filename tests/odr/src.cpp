// The one file of a program that was compiled with PENSTOCK_SEPARATE_COMPILATION in which the long bodies stand.
#include <penstock/src.hpp>
