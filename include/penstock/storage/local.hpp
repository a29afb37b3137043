#pragma once
#include <sys/types.h>
#include <sys/uio.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <penstock/core/separate.hpp>
#include <penstock/storage/backend.hpp>
#include <penstock/storage/synchronous.hpp>

PENSTOCK_BEGIN
namespace detail {
/// What tells one version of a file from another.
struct file_state {
  bytes size;
  std::int64_t changed = 0;  ///< time of the last change, in ns
  u64 device = 0, inode = 0;

  bool operator==(file_state const&) const = default;
  [[nodiscard]] std::string text() const;
};
/// Of an open file. @returns false where the system gives none
bool look_at(int descriptor, file_state& state) noexcept;

/// What the operating system says about `path`, with its kind: "cannot read X: Input/output error".
///
/// @param advice  what to do about it, or nothing
error system_says(int number, std::string_view doing, std::string const& path, std::string_view advice = {});
/// @returns nothing where an escape is broken or hides a NUL
std::optional<std::string> percent_decoded(std::string_view text);
/// As `local::list`, of a path.
result<std::vector<stored_object>> files_below(std::string const& directory);
}  // namespace detail

namespace storage {
/// Files: plain paths and `file:///path` (the host empty or `localhost`, the path percent-encoded).
///
/// Names, siblings and messages go by the path that was given, bytes by the target of a link. A pinned object is an open
/// descriptor: a file that is replaced keeps its old bytes, one that is changed in place is noticed after each read.
class local {
 public:
  /// Reads like `preadv`: it may return less than was asked for, or -1 with errno.
  using read_function = ssize_t (*)(int descriptor, iovec const* places, int count, off_t first);

  /// An open file and what it was when first seen.
  class object {
   public:
    object(object&& o) noexcept;
    object& operator=(object&& o) noexcept;
    ~object();

    [[nodiscard]] bytes size() const noexcept { return seen_.size; }
    /// Size, time of the last change (ns) and inode.
    [[nodiscard]] std::string version() const { return seen_.text(); }
    /// The path by which it was pinned.
    [[nodiscard]] std::string const& shown() const& noexcept { return shown_; }

   private:
    friend class local;
    object(int descriptor, detail::file_state seen, std::string shown) noexcept;

    int descriptor_ = -1;
    detail::file_state seen_;
    std::string shown_;
  };

  /// Reads one request in the thread that waits.
  struct reader {
    read_function read;
    /// @errors format: the file ends too early; changed: it is not the file that was pinned; io
    result<void> operator()(read_request<object> const& r) const;
  };
  using lane = detail::synchronous_lane<object, reader>;

  static constexpr std::string_view schemes = "a plain path, file://";
  static bool takes(uri const& u) noexcept { return u.scheme().empty() || u.scheme() == "file"; }

  /// @param read  for tests: how bytes are read
  explicit local(read_function read = ::preadv) noexcept : read_{read} {}

  [[nodiscard]] static storage_traits traits() noexcept {
    return {.gap = kibibytes(4), .bandwidth = gibibytes(4), .lanes = 4, .depth = 1, .transport_per_read = {}};
  }

  /// @errors not_found: names every file that is not there; access; config: a name that leaves the root; format: a
  ///         folder, FIFO, socket or device; io
  result<std::vector<object>> pin(uri const& root, std::span<std::string const> names) const;

  /// Every file below `root`, sorted; links to files are followed, links to folders and folders that may not be read
  /// are left out. A link to nothing is listed with 0 bytes, so that `pin` can say that it is broken.
  ///
  /// @errors not_found, access, usage: the root is a file, or more than a million files stand below it; io
  result<std::vector<stored_object>> list(uri const& root) const;

  result<std::unique_ptr<lane>> open_lane(std::span<object const>, unsigned, unsigned) const {
    return std::make_unique<lane>(reader{read_});
  }

  /// The path that a root names, as given, without a final `/`. @errors usage: a broken `file://`
  static result<std::string> directory_of(uri const& root);

 private:
  result<object> open(std::string const& path) const;

  read_function read_;
};
}  // namespace storage

PENSTOCK_END

#ifndef PENSTOCK_SEPARATE_COMPILATION
#  include <penstock/storage/local.ipp>
#endif
