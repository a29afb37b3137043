// error: this is no sink
// guard: sink_takes_parameters
#include <penstock/device/host.hpp>
#include <penstock/pipeline/sink.hpp>

using namespace penstock;

struct my_sink {
#ifdef COMPILE_FAIL
  std::byte* destination(parameter const&);
#else
  placement destination(parameter const&);
#endif
};
static_assert(detail::check_sink<my_sink, device::host>());
