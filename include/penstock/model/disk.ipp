#pragma once
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include <penstock/model/disk.hpp>
#include <penstock/storage/local.hpp>

PENSTOCK_BEGIN
namespace detail {
PENSTOCK_INLINE descriptor::~descriptor() {
  if (number_ >= 0) ::close(number_);
}

PENSTOCK_INLINE error cannot(int number, std::string_view doing, std::filesystem::path const& path,
                             std::string_view advice) {
  auto const said = system_says(number, doing, path.string(), advice);
  return {error_kind::io, said.message(), said.where()};
}

PENSTOCK_INLINE result<temporary_folder> temporary_folder::beside(std::filesystem::path const& target,
                                                                  std::string_view advice) {
  auto name = (target.parent_path() / ("." + target.filename().string() + ".XXXXXX")).string();
  if (!::mkdtemp(name.data())) return cannot(errno, "make the folder", name, advice);
  return temporary_folder{name};
}

PENSTOCK_INLINE temporary_folder::~temporary_folder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

PENSTOCK_INLINE result<bool> temporary_folder::rename(std::filesystem::path const& to, std::string_view advice) {
  if (::rename(path_.c_str(), to.c_str()) == 0) {
    path_.clear();
    return true;
  }
  if (errno == EEXIST || errno == ENOTEMPTY || errno == ENOTDIR) return false;
  return cannot(errno, "make the folder", to, advice);
}

PENSTOCK_INLINE result<void> make_folders(std::filesystem::path const& path, std::string_view advice) {
  std::filesystem::path made;
  for (auto const& part : path) {
    made /= part;
    if (part.empty() || ::mkdir(made.c_str(), 0700) == 0) continue;
    struct ::stat s;
    int const number = errno;
    if (::stat(made.c_str(), &s) == 0) {
      if (S_ISDIR(s.st_mode)) continue;
      return cannot(ENOTDIR, "make the folder", made, advice);
    }
    return cannot(number, "make the folder", made, advice);
  }
  return {};
}

PENSTOCK_INLINE result<void> write_at(std::filesystem::path const& path, bytes first,
                                      std::span<std::byte const> content, std::string_view advice) {
  descriptor const file{::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)};
  if (!file) return cannot(errno, "write", path, advice);
  auto at = static_cast<off_t>(first.count);
  while (!content.empty()) {
    auto const put = ::pwrite(file.get(), content.data(), content.size(), at);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return cannot(put < 0 ? errno : ENOSPC, "write", path, advice);
    content = content.subspan(static_cast<std::size_t>(put));
    at += put;
  }
  return {};
}

PENSTOCK_INLINE result<void> flush(std::filesystem::path const& path, std::string_view advice) {
  descriptor const opened{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  // Some file systems flush no folders and say EINVAL.
  if (!opened || (::fsync(opened.get()) != 0 && errno != EINVAL)) return cannot(errno, "write", path, advice);
  return {};
}

PENSTOCK_INLINE result<std::string> read_file(std::filesystem::path const& path, bytes most) {
  descriptor const file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)};
  if (!file) return system_says(errno, "open", path.string());
  struct ::stat s;
  if (::fstat(file.get(), &s) != 0) return system_says(errno, "look at", path.string());
  if (!S_ISREG(s.st_mode) || static_cast<u64>(s.st_size) > most.count)
    return error{error_kind::config,
                 "expected a file of at most " + std::to_string(most.count) + " bytes, found " +
                     (S_ISREG(s.st_mode) ? std::to_string(s.st_size) + " bytes" : std::string{"no file"}) + ": " +
                     path.string() + "; put the right file in its place",
                 {.uri = path.string()}};
  std::string content(static_cast<std::size_t>(s.st_size), '\0');
  std::size_t done = 0;
  while (done < content.size()) {
    auto const got = ::read(file.get(), content.data() + done, content.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_says(errno, "read", path.string());
    if (got == 0)
      return error{error_kind::changed,
                   path.string() + " had " + std::to_string(s.st_size) + " bytes when it was opened, and ends at " +
                       std::to_string(done) + "; read it again",
                   {.uri = path.string()}};
    done += static_cast<std::size_t>(got);
  }
  return content;
}
}  // namespace detail
PENSTOCK_END
