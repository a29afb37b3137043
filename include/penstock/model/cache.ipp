#pragma once
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <system_error>
#include <thread>

#include <penstock/core/hash.hpp>
#include <penstock/model/cache.hpp>
#include <penstock/storage/local.hpp>
#include <penstock/storage/name.hpp>

PENSTOCK_BEGIN
namespace detail {
inline constexpr std::string_view cache_advice =
    "free some space, or choose another cache by PENSTOCK_CACHE or open_options::cache";

PENSTOCK_INLINE result<std::filesystem::path> cache_folder(std::string const& chosen) {
  auto const variable = [](char const* name) {
    char const* const value = std::getenv(name);
    return std::filesystem::path{value ? value : ""};
  };
  std::filesystem::path folder = chosen;
  if (folder.empty()) folder = variable("PENSTOCK_CACHE");
  if (folder.empty())
    if (auto const xdg = variable("XDG_CACHE_HOME"); xdg.is_absolute()) folder = xdg / "penstock";
  if (folder.empty())
    if (auto const home = variable("HOME"); home.is_absolute()) folder = home / ".cache" / "penstock";
  if (folder.empty())
    return error{error_kind::io,
                 "no place for config and tokenizer files: set PENSTOCK_CACHE, XDG_CACHE_HOME or HOME, or "
                 "open_options::cache, to an absolute path"};
  std::error_code failed;
  folder = std::filesystem::absolute(folder, failed);
  if (failed) return cannot(failed.value(), "use the cache", folder, cache_advice);
  return folder;
}

/// One word of a manifest's line: spaces, control characters and `%` escaped.
PENSTOCK_INLINE std::string manifest_word(std::string_view text) {
  constexpr std::string_view hex = "0123456789abcdef";
  std::string word;
  for (char c : text) {
    auto const b = static_cast<unsigned char>(c);
    if (b > 0x20 && b != 0x7f && b != '%') word += c;
    else (word += '%') += {hex[b >> 4], hex[b & 15]};
  }
  return word;
}

/// A folder's name that people can read and that differs when the contents differ: `org_model-0123456789abcdef`.
PENSTOCK_INLINE std::string snapshot_name(std::string_view uri, std::vector<snapshot_file> const& files) {
  u64 hash = hash_of(uri);  // where two hashes agree, the manifest still tells them apart
  for (auto const& f : files)
    for (u64 const part : {hash_of(f.name), f.size.count, hash_of(f.version)}) hash = hash_of(hash, part);

  while (uri.ends_with('/')) uri.remove_suffix(1);
  auto cut = uri.rfind('/');
  if (cut != uri.npos && cut > 0) cut = uri.rfind('/', cut - 1);
  if (cut != uri.npos) uri.remove_prefix(cut + 1);
  std::string name;
  for (char c : uri.substr(0, 80)) {
    bool const plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                       c == '_' || (c == '.' && !name.empty());
    name += plain ? c : '_';
  }
  return name + '-' + hex_of(hash);
}

PENSTOCK_INLINE cached_snapshot::cached_snapshot(std::filesystem::path first, std::string uri,
                                                 std::vector<snapshot_file> files)
    : first_(std::move(first)), uri_(std::move(uri)), files_(std::move(files)) {}

PENSTOCK_INLINE result<cached_snapshot> cached_snapshot::open(std::filesystem::path const& cache, std::string uri,
                                                              std::vector<snapshot_file> files, observer const& watch,
                                                              std::stop_token const& stop) {
  auto const folder = cache / "snapshots";
  cached_snapshot s{folder / snapshot_name(uri, files), std::move(uri), std::move(files)};
  auto found = s.find();
  if (!found) return std::move(found).error();
  if (*found) return s;
  if (auto done = make_folders(folder, cache_advice); !done) return std::move(done).error();
  if (auto done = s.lock(watch, stop); !done) return std::move(done).error();
  found = s.find();  // the one who had the lock may have made it
  if (!found) return std::move(found).error();
  if (*found) return s;
  if (auto done = s.begin(); !done) return std::move(done).error();
  return s;
}

PENSTOCK_INLINE result<void> cached_snapshot::lock(observer const& watch, std::stop_token const& stop) {
  auto const path = first_.string() + ".lock";
  lock_ = descriptor{::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)};
  if (!lock_) return cannot(errno, "write", path, cache_advice);
  for (bool told = false; ::flock(lock_.get(), LOCK_EX | LOCK_NB) != 0;) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) {  // a file system without locks: two may fetch, the first to rename wins
      lock_ = descriptor{};
      return {};
    }
    if (stop.stop_requested())
      return error{error_kind::cancelled, "stopped on request while another process fetched " + uri_, {.uri = uri_}};
    if (!std::exchange(told, true)) watch.notice("another process fetches the files of " + uri_ + "; waiting for it");
    std::this_thread::sleep_for(std::chrono::milliseconds{20});
  }
  return {};
}

/// Looks for a complete snapshot; without one, `place_` is a name that is free.
PENSTOCK_INLINE result<bool> cached_snapshot::find() {
  constexpr int most_names = 16;
  for (int i = 1; i <= most_names; ++i) {
    place_ = i == 1 ? first_ : std::filesystem::path{first_.string() + "." + std::to_string(i)};
    struct ::stat s;
    if (::lstat(place_.c_str(), &s) != 0) {
      if (errno == ENOENT) return false;
      return cannot(errno, "look at", place_, cache_advice);
    }
    if (!S_ISDIR(s.st_mode) || (s.st_uid != ::geteuid() && s.st_uid != 0)) continue;
    auto const wanted = manifest(place_ / "files");
    if (!wanted) continue;
    auto const written = read_file(place_ / "manifest", gibibytes(1));
    if (written && *written == *wanted) return true;
  }
  return error{error_kind::io,
               "of " + first_.string() + " stand " + std::to_string(most_names) +
                   " damaged copies in the cache; remove them, or choose another cache by PENSTOCK_CACHE or "
                   "open_options::cache",
               {.uri = first_.string()}};
}

/// The manifest that the files in `directory` should have. @returns nothing where one of them is not as it should be
PENSTOCK_INLINE std::optional<std::string> cached_snapshot::manifest(std::filesystem::path const& directory) const {
  std::string text = "penstock snapshot 1\n" + manifest_word(uri_) + "\n";
  for (auto const& f : files_) {
    struct ::stat s;
    auto const path = directory / f.name;
    if (::lstat(path.c_str(), &s) != 0 || !S_ISREG(s.st_mode) || static_cast<u64>(s.st_size) != f.size.count)
      return std::nullopt;
    text += std::to_string(f.size.count) + " " + std::to_string(s.st_mtim.tv_sec) + "." +
            std::to_string(s.st_mtim.tv_nsec) + " " + manifest_word(f.version) + " " + manifest_word(f.name) + "\n";
  }
  return text;
}

PENSTOCK_INLINE result<void> cached_snapshot::begin() {
  if (lock_) {  // whoever held the lock before and was killed left this behind
    std::error_code ignored;
    auto const prefix = "." + first_.filename().string() + ".";
    for (std::filesystem::directory_iterator at{first_.parent_path(), ignored}, end; !ignored && at != end;
         at.increment(ignored))
      if (at->path().filename().string().starts_with(prefix)) std::filesystem::remove_all(at->path(), ignored);
  }
  auto made = temporary_folder::beside(place_, cache_advice);
  if (!made) return std::move(made).error();
  fresh_.emplace(*std::move(made));
  auto const directory = fresh_->path() / "files";
  if (auto done = make_folders(directory, cache_advice); !done) return done;
  for (std::size_t i = 0; i < files_.size(); ++i) {
    auto const& name = files_[i].name;
    // Sorted, so a file `a` has been made before `a/b` asks for a folder of that name.
    std::error_code ignored;
    for (auto slash = name.find('/'); slash != name.npos; slash = name.find('/', slash + 1))
      if (std::filesystem::is_regular_file(directory / name.substr(0, slash), ignored))
        return error{error_kind::config,
                     uri_ + " holds both " + shown_name(name.substr(0, slash)) + " and " + shown_name(name) +
                         ", which no folder can; rename one of them",
                     {.uri = uri_}};
    if (auto done = make_folders((directory / name).parent_path(), cache_advice); !done) return done;
    if (auto done = write(i, {}, {}); !done) return done;
  }
  return {};
}

PENSTOCK_INLINE result<void> cached_snapshot::write(std::size_t file, bytes first, std::span<std::byte const> content) {
  return write_at(fresh_->path() / "files" / files_[file].name, first, content, cache_advice);
}

PENSTOCK_INLINE result<void> cached_snapshot::commit() {
  auto const directory = fresh_->path() / "files";
  for (auto const& f : files_)
    if (auto done = flush(directory / f.name, cache_advice); !done) return done;
  std::error_code failed;
  for (std::filesystem::recursive_directory_iterator at{directory, failed}, end; !failed && at != end;
       at.increment(failed))
    if (at->is_directory())
      if (auto done = flush(at->path(), cache_advice); !done) return done;
  auto const text = manifest(directory);
  if (!text)
    return error{
        error_kind::io,
        "the files in " + directory.string() + " changed while they were written; " + std::string{cache_advice},
        {.uri = directory.string()}};
  auto const written = fresh_->path() / "manifest";
  if (auto done = write_at(written, {}, std::as_bytes(std::span{*text}), cache_advice); !done) return done;
  for (auto const& path : {written, directory, fresh_->path()})
    if (auto done = flush(path, cache_advice); !done) return done;
  auto named = fresh_->rename(place_, cache_advice);
  if (!named) return std::move(named).error();
  fresh_.reset();
  if (!*named) {  // only without locks: somebody was faster
    auto found = find();
    if (!found) return std::move(found).error();
    if (!*found)
      return error{
          error_kind::io, "two processes wrote " + place_.string() + " at once; try again", {.uri = place_.string()}};
  }
  lock_ = descriptor{};
  return flush(place_.parent_path(), cache_advice);
}
}  // namespace detail
PENSTOCK_END
