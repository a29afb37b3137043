// error: this exchange lacks .static constexpr bool needs_communicator
// guard: exchange_is_a_policy
#include <penstock/device/host.hpp>
#include <penstock/pipeline/executor.hpp>
#include <penstock/storage/local.hpp>

struct my_exchange {};

#ifdef COMPILE_FAIL
using my_executor = penstock::executor<penstock::storage::local, penstock::device::host, my_exchange>;
#else
using my_executor = penstock::executor<penstock::storage::local, penstock::device::host>;
#endif
static_assert(sizeof(my_executor) > 0);
