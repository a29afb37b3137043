// error: this sink.s layer_ready cannot be called with a .layer_id.
// guard: sink_hears_announcements
#include <penstock/device/host.hpp>
#include <penstock/pipeline/sink.hpp>

using namespace penstock;

struct my_sink {
  placement destination(parameter const&);
#ifdef COMPILE_FAIL
  void layer_ready(u32 layer);
#else
  void layer_ready(layer_id layer);
#endif
};
static_assert(detail::check_sink<my_sink, device::host>());
