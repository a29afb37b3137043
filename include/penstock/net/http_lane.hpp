#pragma once
#include <chrono>
#include <memory>
#include <span>

#include <penstock/core/read.hpp>
#include <penstock/core/result.hpp>
#include <penstock/core/separate.hpp>
#include <penstock/net/http_options.hpp>
#include <penstock/net/http_request.hpp>

PENSTOCK_BEGIN
namespace net {
/// A queue of ranged reads over HTTP, driven by one thread. Models `read_lane` for `http_object`.
///
/// Bytes go from libcurl's buffer straight to their place, after status, Content-Range, size and ETag were looked at.
/// A read that is cut goes on from its last good byte. Waiting for the next attempt is an entry in a list, no sleep.
/// @threads one, but `wake` from any
class http_lane {
 public:
  /// A lane for these objects. Resolves the names of their hosts, so that a load only connects.
  ///
  /// @param index  of the lane: lanes begin with different addresses of a host
  /// @param depth  reads outstanding at most
  /// @errors transient: a name cannot be resolved; access: it leads to a forbidden address; memory; io
  /// @blocks on the resolver
  static result<std::unique_ptr<http_lane>> open(std::span<http_object const> objects, http_options const& options,
                                                 unsigned index, unsigned depth);
  ~http_lane();
  http_lane(http_lane const&) = delete;
  http_lane& operator=(http_lane const&) = delete;

  /// Reads wanted outstanding now: halved when the store says 429 or 503, one more after each second without.
  [[nodiscard]] unsigned depth() const noexcept;
  /// Begins a read. More than `depth` at once, a range outside the object, or a list of places that does not add up
  /// are completions with an error.
  void submit(read_request<http_object> const& request);
  /// @returns how many of `out` are filled: at the first completions, after `most`, or when woken
  std::size_t wait(std::span<completion> out, std::chrono::microseconds most);
  /// Makes the present or the next `wait` return.
  void wake() noexcept;
  /// Ends all reads without completions. On return no byte will be written any more; the lane can be used again.
  void cancel() noexcept;
  /// libcurl's buffers at this depth.
  [[nodiscard]] bytes transport_bytes() const noexcept;

 private:
  struct state;
  explicit http_lane(std::unique_ptr<state> s) noexcept;
  std::unique_ptr<state> state_;
};
}  // namespace net
PENSTOCK_END

#ifndef PENSTOCK_SEPARATE_COMPILATION
#  include <penstock/net/http_lane.ipp>
#endif
