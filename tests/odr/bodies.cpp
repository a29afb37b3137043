// The one file of a program compiled with PENSTOCK_SEPARATE_COMPILATION in which the long bodies stand.
#include <penstock/src.hpp>
#if PENSTOCK_HTTP
#  include <penstock/src_http.hpp>
#endif
