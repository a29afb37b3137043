// error: this device cannot write the memory of own<Memory>
// guard: device_writes_owned_memory
#include <penstock/device/host.hpp>
#include <penstock/pipeline/own.hpp>

using namespace penstock;

struct gpu_memory {
  static constexpr auto space = memory_space::cuda;
  static void* allocate(std::size_t) noexcept;
  static void release(void*, std::size_t) noexcept;
};
#ifdef COMPILE_FAIL
using my_memory = gpu_memory;
#else
using my_memory = host_memory;
#endif
using my_sink = own_sink<my_memory, void (*)(parameter const&, owned_tensor<my_memory>)>;
static_assert(detail::check_sink<my_sink, device::host>());
