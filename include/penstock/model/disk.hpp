#pragma once
#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <penstock/core/bytes.hpp>
#include <penstock/core/result.hpp>
#include <penstock/core/separate.hpp>

PENSTOCK_BEGIN
namespace detail {
/// A descriptor that is closed at the end.
class descriptor {
 public:
  explicit descriptor(int number = -1) noexcept : number_(number) {}
  descriptor(descriptor&& o) noexcept : number_(std::exchange(o.number_, -1)) {}
  descriptor& operator=(descriptor&& o) noexcept { return std::swap(number_, o.number_), *this; }
  ~descriptor();
  [[nodiscard]] int get() const noexcept { return number_; }
  explicit operator bool() const noexcept { return number_ >= 0; }

 private:
  int number_;
};

/// A folder of a random name that is removed at the end, unless it was renamed before.
class temporary_folder {
 public:
  /// Beside `target`, called `.NAME.XXXXXX`. @errors io
  static result<temporary_folder> beside(std::filesystem::path const& target, std::string_view advice);
  temporary_folder(temporary_folder&& o) noexcept : path_(std::exchange(o.path_, {})) {}
  temporary_folder& operator=(temporary_folder&& o) noexcept { return path_.swap(o.path_), *this; }
  ~temporary_folder();

  [[nodiscard]] std::filesystem::path const& path() const noexcept { return path_; }
  /// Gives it its name. @returns false where something has that name already @errors io
  result<bool> rename(std::filesystem::path const& to, std::string_view advice);

 private:
  explicit temporary_folder(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

/// An error of kind io, whatever the number: what we write is never the user's to find or to be let into.
error cannot(int number, std::string_view doing, std::filesystem::path const& path, std::string_view advice);
/// Makes a folder and those above it, for this user alone. @errors io
result<void> make_folders(std::filesystem::path const& path, std::string_view advice);
/// Writes at an offset of a file, which is made if need be, for this user alone. @errors io
result<void> write_at(std::filesystem::path const& path, bytes first, std::span<std::byte const> content,
                      std::string_view advice);
/// Waits until a file or folder is on the disk. @errors io
result<void> flush(std::filesystem::path const& path, std::string_view advice);
/// A file whole, at most `most` bytes. @errors not_found, access, io; config: larger, or no file
result<std::string> read_file(std::filesystem::path const& path, bytes most);
}  // namespace detail
PENSTOCK_END

#ifndef PENSTOCK_SEPARATE_COMPILATION
#  include <penstock/model/disk.ipp>
#endif
