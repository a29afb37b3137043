#pragma once
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <penstock/core/separate.hpp>
#include <penstock/storage/backend.hpp>
#include <penstock/storage/synchronous.hpp>

PENSTOCK_BEGIN
namespace storage {
/// Objects that the program puts in itself: `add("m/config.json", "{}")` is `config.json` below `memory://m`.
///
/// For tests and for engines that carry their files with them. Copies share the objects.
///
/// @threads  add and remove may run beside everything else; a pinned object that they touch is `changed`
class memory {
  struct entry;
  struct table;

 public:
  /// A pinned object. It keeps its bytes.
  class object {
   public:
    [[nodiscard]] bytes size() const noexcept;
    [[nodiscard]] std::string version() const;

   private:
    friend class memory;
    object(std::shared_ptr<table const> all, std::shared_ptr<entry const> seen, std::string key)
        : all_(std::move(all)), seen_(std::move(seen)), key_(std::move(key)) {}
    std::shared_ptr<table const> all_;
    std::shared_ptr<entry const> seen_;
    std::string key_;
  };

  /// Copies one request in the thread that waits.
  struct reader {
    /// @errors changed: replaced or removed after the pin; format: a range outside the object
    result<void> operator()(read_request<object> const& r) const;
  };
  using lane = detail::synchronous_lane<object, reader>;

  static constexpr std::string_view schemes = "memory://";
  static bool takes(uri const& u) noexcept { return u.scheme() == "memory"; }

  memory();

  /// Puts an object in, or replaces it. @param name  with the root: `m/config.json`
  void add(std::string name, std::vector<std::byte> content);
  void add(std::string name, std::string_view content);
  void remove(std::string const& name);

  /// @errors not_found: names every object that is not there; config: a name that leaves the root
  result<std::vector<object>> pin(uri const& root, std::span<std::string const> names) const;
  /// Sorted by name. @errors not_found: nothing stands below `root`
  result<std::vector<stored_object>> list(uri const& root) const;
  result<std::unique_ptr<lane>> open_lane(std::span<object const>, unsigned, unsigned) const {
    return std::make_unique<lane>(reader{});
  }

 private:
  std::shared_ptr<table> all_;
};
}  // namespace storage
PENSTOCK_END

#ifndef PENSTOCK_SEPARATE_COMPILATION
#  include <penstock/storage/memory.ipp>
#endif
