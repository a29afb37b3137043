// error: this is no sink
// guard: sink_takes_parameters, borrowed_is_pinned
#include <penstock/device/host.hpp>
#include <penstock/pipeline/sink.hpp>

using namespace penstock;

struct my_sink {
#ifdef COMPILE_FAIL
  void piece(parameter const&, landed_piece const&, borrowed_tensor, lease<device::host::stream>&);
#else
  void piece(parameter const&, landed_piece const&, borrowed_tensor const&, lease<device::host::stream>&);
#endif
};
static_assert(detail::check_sink<my_sink, device::host>());
