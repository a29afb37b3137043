#pragma once
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include <penstock/core/separate.hpp>
#include <penstock/net/http_lane.hpp>
#include <penstock/storage/azure_access.hpp>
#include <penstock/storage/azure_location.hpp>
#include <penstock/storage/backend.hpp>

PENSTOCK_BEGIN
namespace storage {
/// How to reach Azure Blob Storage. What is left empty comes from the URI and the environment.
struct azure_options {
  azure_settings account{};
  bool environment = true;  ///< look at AZURE_STORAGE_*
  net::http_options http{};
  unsigned depth = 8;  ///< reads that one lane keeps outstanding
};

/// Azure Blob Storage, and Azurite: a storage of objects at az:// and the other forms of `locate_azure`.
///
/// A pinned object is its ETag: each read asks for that version and checks that it got it.
class azure_blob {
 public:
  using options = azure_options;
  using object = net::http_object;
  using lane = net::http_lane;

  explicit azure_blob(azure_options o = {});

  static constexpr std::string_view schemes =
      "az://, azure://, abfs(s)://, wasb(s)://, https://ACCOUNT.blob.core.windows.net";
  /// Is this a URI of ours?
  static bool takes(uri const& where) { return is_azure(where); }

  /// Sees each object once, up to 16 at the same time.
  ///
  /// @errors usage: the URI; access: no account or credential, or they are refused; not_found: names all that are
  ///         missing, a directory among them; format: an object stored with a Content-Encoding; transient; io: also an
  ///         object without an ETag; cancelled
  /// @blocks until the store has answered
  /// @cost   one request (HEAD) for each name
  result<std::vector<object>> pin(uri const& root, std::span<std::string const> names,
                                  std::stop_token const& stop = {});
  /// Every object below `root/`; directory marks of hierarchical namespaces are left out, empty files are not.
  ///
  /// @errors as `pin`; not_found: nothing is there
  /// @cost   one request for each 5,000 objects
  result<std::vector<stored_object>> list(uri const& root, std::stop_token const& stop = {});
  /// @errors as net::http_lane::open
  result<std::unique_ptr<lane>> open_lane(std::span<object const> objects, unsigned index, unsigned depth);
  [[nodiscard]] storage_traits traits() const noexcept;

 private:
  struct place;
  result<place> find(uri const& root) const;

  azure_options options_;
  azure_settings environment_;
};
}  // namespace storage
PENSTOCK_END

#ifndef PENSTOCK_SEPARATE_COMPILATION
#  include <penstock/storage/azure_blob.ipp>
#endif
