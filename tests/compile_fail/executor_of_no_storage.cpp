// error: do not make an executor
// guard: executor_fits
#include <penstock/device/host.hpp>
#include <penstock/pipeline/executor.hpp>
#include <penstock/storage/local.hpp>

#ifdef COMPILE_FAIL
using my_executor = penstock::executor<penstock::storage_traits, penstock::device::host>;
#else
using my_executor = penstock::executor<penstock::storage::local, penstock::device::host>;
#endif
static_assert(sizeof(my_executor) > 0);
