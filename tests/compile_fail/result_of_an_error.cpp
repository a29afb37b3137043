// error: a result holds a value, not a reference or an error
// guard: result_holds_a_value
#include <penstock/core/result.hpp>

#ifdef COMPILE_FAIL
using held = penstock::error;
#else
using held = int;
#endif
static_assert(sizeof(penstock::result<held>) > 0);
