// error: this sink both places and borrows
// guard: sink_is_of_one_kind
#include <penstock/device/host.hpp>
#include <penstock/pipeline/sink.hpp>

using namespace penstock;

struct my_sink {
#ifdef COMPILE_FAIL
  placement destination(parameter const&);
#else
  // it only looks
#endif
  void piece(parameter const&, landed_piece const&, borrowed_tensor const&, lease<device::host::stream>&);
};
static_assert(detail::check_sink<my_sink, device::host>());
