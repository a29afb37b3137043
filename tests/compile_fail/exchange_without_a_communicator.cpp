// error: this exchange needs a communicator and an executor has none to give
// guard: exchange_has_its_communicator
#include <penstock/device/host.hpp>
#include <penstock/pipeline/executor.hpp>
#include <penstock/storage/local.hpp>

struct my_exchange {
  static constexpr bool needs_communicator = true;
};

#ifdef COMPILE_FAIL
using my_executor = penstock::executor<penstock::storage::local, penstock::device::host, my_exchange>;
#else
using my_executor =
    penstock::executor<penstock::storage::local, penstock::device::host, penstock::exchange::independent>;
#endif
static_assert(sizeof(my_executor) > 0);
