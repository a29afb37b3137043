// error: this device.s stream lacks .result<void> mark
// guard: stream_mark
#include <penstock/device/device.hpp>

using namespace penstock;

struct pinned_memory {};
struct signal {
  result<bool> done();
  result<void> wait();
};
struct queue {
  result<void> copy(std::span<copy_op const>);
#ifdef COMPILE_FAIL
  // no mark
#else
  result<void> mark(signal&);
#endif
};
struct my_device {
  using staging = pinned_memory;
  using stream = queue;
  using event = signal;
  template <memory M>
  static constexpr bool writes = M::space == memory_space::host;
  result<pinned_memory> stage(bytes);
  result<queue> open_stream();
  bool reaches(std::byte const*);
  result<void> bind();
};
static_assert(detail::check_device<my_device>());
