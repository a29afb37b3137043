// error: this sink.s ready cannot be called with a .parameter const&.
// guard: sink_hears_announcements
#include <penstock/device/host.hpp>
#include <penstock/pipeline/sink.hpp>

using namespace penstock;

struct my_sink {
  placement destination(parameter const&);
#ifdef COMPILE_FAIL
  void ready(std::string const& name);
#else
  void ready(parameter const&);
#endif
};
static_assert(detail::check_sink<my_sink, device::host>());
