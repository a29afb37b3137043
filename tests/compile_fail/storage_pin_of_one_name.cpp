// error: this storage lacks .result<std::vector<object>> pin
// guard: storage_pin
#include <penstock/storage/backend.hpp>

using namespace penstock;

struct file {
  bytes size() const;
  std::string version() const;
};
struct queue {
  unsigned depth();
  void submit(read_request<file> const&);
  std::size_t wait(std::span<completion>, std::chrono::microseconds);
  void wake() noexcept;
  void cancel() noexcept;
  bytes transport_bytes();
};
struct my_storage {
  using object = file;
  using lane = queue;
#ifdef COMPILE_FAIL
  result<file> pin(uri const&, std::string const&);
#else
  result<std::vector<file>> pin(uri const&, std::span<std::string const>);
#endif
  result<std::vector<stored_object>> list(uri const&);
  result<std::unique_ptr<queue>> open_lane(std::span<file const>, unsigned, unsigned);
};
static_assert(detail::check_storage<my_storage>());
