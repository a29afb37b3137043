// error: param_id.* to .*group_id|from .*param_id
#include <penstock/core/index.hpp>

void finish(penstock::group_id group);

#ifdef COMPILE_FAIL
void f(penstock::param_id which) { finish(which); }
#else
void f(penstock::group_id which) { finish(which); }
#endif
