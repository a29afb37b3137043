// error: this device lacks .template <memory M> static constexpr bool writes
// guard: device_writes
#include <penstock/device/device.hpp>

using namespace penstock;

struct pinned_memory {};
struct signal {
  result<bool> done();
  result<void> wait();
};
struct queue {
  result<void> copy(std::span<copy_op const>);
  result<void> mark(signal&);
};
struct my_device {
  using staging = pinned_memory;
  using stream = queue;
  using event = signal;
#ifdef COMPILE_FAIL
  // no writes
#else
  template <memory M>
  static constexpr bool writes = M::space == memory_space::host;
#endif
  result<pinned_memory> stage(bytes);
  result<queue> open_stream();
  bool reaches(std::byte const*);
  result<void> bind();
};
static_assert(detail::check_device<my_device>());
