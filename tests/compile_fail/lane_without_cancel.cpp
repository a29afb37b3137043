// error: this storage.s lane lacks .void cancel.. noexcept
// guard: lane_cancel
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
#ifdef COMPILE_FAIL
  // no cancel
#else
  void cancel() noexcept;
#endif
  bytes transport_bytes();
};
struct my_storage {
  using object = file;
  using lane = queue;
  result<std::vector<file>> pin(uri const&, std::span<std::string const>);
  result<std::vector<stored_object>> list(uri const&);
  result<std::unique_ptr<queue>> open_lane(std::span<file const>, unsigned, unsigned);
};
static_assert(detail::check_storage<my_storage>());
