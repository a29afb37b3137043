// error: own<Memory> hands over
// guard: own_takes_an_owned_tensor
#include <penstock/device/host.hpp>
#include <penstock/pipeline/own.hpp>

using namespace penstock;

#ifdef COMPILE_FAIL
using take = void (*)(parameter const&, std::byte*);
#else
using take = void (*)(parameter const&, owned_tensor<host_memory>);
#endif
using my_sink = own_sink<host_memory, take>;
static_assert(detail::check_sink<my_sink, device::host>());
