#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include <penstock/core/separate.hpp>
#include <penstock/net/http_lane.hpp>
#include <penstock/storage/backend.hpp>
#include <penstock/storage/s3_access.hpp>
#include <penstock/storage/s3_location.hpp>

PENSTOCK_BEGIN
namespace storage {
/// How to reach S3. What is left empty comes from the URI, the environment and the AWS tools' profile.
struct s3_options {
  s3_settings account{};
  bool environment = true;  ///< look at AWS_* and the profile files
  net::http_options http{};
  unsigned depth = 8;  ///< reads that one lane keeps outstanding
};

/// Amazon S3 and what speaks like it: a storage of objects at s3:// and the other forms of `locate_s3`.
///
/// A pinned object is its ETag: each read asks for that version (If-Match) and checks that it got it.
/// @source Amazon S3 API Reference
class s3 {
 public:
  using options = s3_options;
  using object = net::http_object;
  using lane = net::http_lane;

  explicit s3(s3_options o = {}) : options_(std::move(o)) {}

  static constexpr std::string_view schemes = "s3://, s3a://, https://BUCKET.s3.REGION.amazonaws.com";
  /// Is this a URI of ours?
  static bool takes(uri const& where) { return is_s3(where); }

  /// Sees each object once, up to 16 at the same time.
  ///
  /// @errors usage: the URI; access: no credential, or it is refused; not_found: names all that are missing; format: an
  ///         object stored with a Content-Encoding; transient; io: also an object without an ETag; cancelled
  /// @blocks until the store has answered
  /// @cost   one request (HEAD) for each name; the first time for a bucket of AWS, one more that asks for its region
  result<std::vector<object>> pin(uri const& root, std::span<std::string const> names,
                                  std::stop_token const& stop = {});
  /// Every object below `root/`; marks of directories are left out, empty files are not.
  ///
  /// @errors as `pin`; not_found: nothing is there
  /// @cost   one request for each 1,000 objects
  result<std::vector<stored_object>> list(uri const& root, std::stop_token const& stop = {});
  /// @errors as net::http_lane::open
  result<std::unique_ptr<lane>> open_lane(std::span<object const> objects, unsigned index, unsigned depth);
  [[nodiscard]] storage_traits traits() const noexcept;

 private:
  struct place;
  result<place> find(uri const& root, std::stop_token const& stop);

  s3_options options_;
  std::map<std::string, s3_access>
      known_;  ///< by endpoint and bucket: a region is asked for once, credentials are shared
};
}  // namespace storage
PENSTOCK_END

#ifndef PENSTOCK_SEPARATE_COMPILATION
#  include <penstock/storage/s3.ipp>
#endif
