#pragma once
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <optional>
#include <system_error>

#include <penstock/core/percent.hpp>
#include <penstock/storage/local.hpp>
#include <penstock/storage/name.hpp>

PENSTOCK_BEGIN
namespace detail {
PENSTOCK_INLINE std::string file_state::text() const {
  return std::to_string(size.count) + " bytes, changed at " + std::to_string(changed) + " ns, inode " +
         std::to_string(inode) + " of device " + std::to_string(device);
}

PENSTOCK_INLINE bool look_at(int descriptor, file_state& state) noexcept {
  struct ::stat s;
  if (::fstat(descriptor, &s) != 0) return false;
  state = {bytes{static_cast<u64>(s.st_size)}, std::int64_t{s.st_mtim.tv_sec} * 1'000'000'000 + s.st_mtim.tv_nsec,
           u64{s.st_dev}, u64{s.st_ino}};
  return true;
}

PENSTOCK_INLINE error system_says(int number, std::string_view doing, std::string const& path,
                                  std::string_view advice) {
  auto const kind = [&] {
    switch (number) {
      case ENOENT:
      case ENOTDIR: return error_kind::not_found;
      case EACCES:
      case EPERM: return error_kind::access;
      case ENOMEM: return error_kind::memory;
      default: return error_kind::io;
    }
  }();
  if (advice.empty() && (number == EMFILE || number == ENFILE)) advice = "raise the limit of open files (ulimit -n)";
  if (advice.empty() && (number == EACCES || number == EPERM)) advice = "give this user the right to read it";
  std::string text = "cannot ";
  ((text += doing) += " ") += path;
  text += ": " + std::generic_category().message(number);
  if (!advice.empty()) (text += "; ") += advice;
  return {kind, std::move(text), {.uri = path}};
}

PENSTOCK_INLINE std::optional<std::string> percent_decoded(std::string_view text) {
  auto plain = decode_percent(text);
  if (plain && plain->find('\0') != plain->npos) plain.reset();
  return plain;
}

/// Walks folders. A link to a file is a file; one to a folder is not entered: it may lead anywhere, also in a circle.
class file_walk {
 public:
  explicit file_walk(std::string const& root) : root_(root) {}

  result<std::vector<stored_object>> run() {
    int const descriptor = ::open(root_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) {
      struct ::stat s;
      int const number = errno;
      if (number == ENOTDIR && ::stat(root_.c_str(), &s) == 0)
        return error{error_kind::usage,
                     "expected a folder with a checkpoint, or one .safetensors file, and found the file " + root_ +
                         "; name the folder in which it stands",
                     {.uri = root_}};
      return system_says(number, "open", root_, number == ENOENT ? advice() : "");
    }
    if (auto done = enter(descriptor, ""); !done) return std::move(done).error();
    std::sort(found_.begin(), found_.end(), [](auto const& a, auto const& b) { return a.name < b.name; });
    return std::move(found_);
  }

 private:
  static constexpr std::size_t most_files = 1'000'000, most_folders = 64;

  /// Takes the descriptor.
  result<void> enter(int descriptor, std::string const& prefix) {
    DIR* const folder = ::fdopendir(descriptor);
    if (!folder) {
      int const number = errno;
      ::close(descriptor);
      return system_says(number, "read", root_ + "/" + prefix);
    }
    ++depth_;
    auto done = read(folder, prefix);
    --depth_;
    ::closedir(folder);
    return done;
  }

  result<void> read(DIR* folder, std::string const& prefix) {
    int const at = ::dirfd(folder);
    while (true) {
      errno = 0;
      auto const* entry = ::readdir(folder);
      if (!entry) {
        if (errno) return system_says(errno, "read", root_ + "/" + prefix);
        return {};
      }
      std::string_view const name = entry->d_name;
      if (name == "." || name == "..") continue;
      struct ::stat s {};
      if (::fstatat(at, entry->d_name, &s, 0) != 0 && errno != ENOENT && errno != ELOOP) {
        if (errno == EACCES) continue;
        return system_says(errno, "look at", root_ + "/" + prefix + entry->d_name);
      }
      if (!S_ISDIR(s.st_mode)) {
        found_.push_back({prefix + entry->d_name, bytes{S_ISREG(s.st_mode) ? static_cast<u64>(s.st_size) : 0}});
        if (found_.size() > most_files) return too_much();
        continue;
      }
      if (depth_ >= most_folders) return too_much();
      if (int const sub = ::openat(at, entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW); sub >= 0) {
        if (auto done = enter(sub, prefix + entry->d_name + "/"); !done) return done;
      } else if (errno != EACCES && errno != ENOENT && errno != ELOOP && errno != ENOTDIR) {
        return system_says(errno, "open", root_ + "/" + prefix + entry->d_name);
      }
    }
  }

  std::string_view advice() const {
    auto const slash = root_.find('/');
    if (root_.find(":/") != root_.npos) return "a scheme is followed by two slashes, as in az://container/path";
    if (slash != root_.npos && slash && root_[0] != '.' && root_.find('/', slash + 1) == root_.npos)
      return "name the folder of a checkpoint; a model of the Hugging Face hub has to be downloaded first";
    return "name the folder of a checkpoint";
  }
  error too_much() const {
    return {error_kind::usage,
            "below " + root_ + " stand more than " + std::to_string(most_files) + " files, or folders more than " +
                std::to_string(most_folders) + " deep; expected the folder of one checkpoint",
            {.uri = root_}};
  }

  std::string const& root_;
  std::size_t depth_ = 0;
  std::vector<stored_object> found_;
};

PENSTOCK_INLINE result<std::vector<stored_object>> files_below(std::string const& directory) {
  return file_walk{directory}.run();
}
}  // namespace detail

namespace storage {
PENSTOCK_INLINE local::object::object(int descriptor, detail::file_state seen, std::string shown) noexcept
    : descriptor_(descriptor), seen_(seen), shown_(std::move(shown)) {}
PENSTOCK_INLINE local::object::object(object&& o) noexcept
    : descriptor_(std::exchange(o.descriptor_, -1)), seen_(o.seen_), shown_(std::move(o.shown_)) {}
PENSTOCK_INLINE local::object& local::object::operator=(object&& o) noexcept {
  std::swap(descriptor_, o.descriptor_);
  seen_ = o.seen_;
  shown_ = std::move(o.shown_);
  return *this;
}
PENSTOCK_INLINE local::object::~object() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

PENSTOCK_INLINE result<std::string> local::directory_of(uri const& root) {
  std::string path{root.rest()};
  if (root.scheme() == "file") {
    auto const slash = path.find('/');
    std::string host = path.substr(0, slash);
    for (char& c : host) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    auto decoded = slash == path.npos ? std::nullopt : detail::percent_decoded(path.substr(slash));
    if (!decoded || !(host.empty() || host == "localhost"))
      return error{
          error_kind::usage,
          "expected file:///path with an absolute, percent-encoded path on this machine, found " + root.shown(),
          {.uri = root.shown()}};
    path = std::move(*decoded);
  }
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

PENSTOCK_INLINE result<local::object> local::open(std::string const& path) const {
  // Not blocking, so that a FIFO without a writer is refused and not waited for.
  int const descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  int const number = errno;
  struct ::stat s;
  detail::file_state seen;
  if (descriptor < 0 && number != ENXIO) return detail::system_says(number, "open", path);
  object opened{descriptor, {}, path};
  if (descriptor < 0 || ::fstat(descriptor, &s) != 0 || !S_ISREG(s.st_mode) || !detail::look_at(descriptor, seen))
    return error{error_kind::format,
                 "expected a file, and " + path + " is a folder, FIFO, socket or device; put the file in its place",
                 {.uri = path}};
  opened.seen_ = seen;
  return opened;
}

PENSTOCK_INLINE result<std::vector<local::object>> local::pin(uri const& root,
                                                              std::span<std::string const> names) const {
  auto const directory = directory_of(root);
  if (!directory) return directory.error();
  for (auto const& name : names)
    if (auto const fault = detail::fault_of_name(name); !fault.empty())
      return error{error_kind::config,
                   "expected a file below " + *directory + ", found the name " + detail::shown_name(name) + ": " +
                       std::string{fault},
                   {.uri = *directory}};
  std::vector<object> pinned;
  std::vector<std::string> missing;
  std::optional<error> failed;
  for (auto const& name : names) {
    auto opened = open((directory->back() == '/' ? *directory : *directory + "/") + name);
    if (opened) pinned.push_back(std::move(*opened));
    else if (opened.error().kind() == error_kind::not_found) missing.push_back(name);
    else if (!failed) failed = std::move(opened).error();
  }
  if (!missing.empty()) {
    std::string text;
    for (auto const& name : missing) text += (text.empty() ? "" : ", ") + name;
    return error{error_kind::not_found,
                 "not in " + *directory + ": " + text + "; finish the download or name another folder",
                 {.uri = *directory}};
  }
  if (failed) return std::move(*failed);
  return pinned;
}

PENSTOCK_INLINE result<std::vector<stored_object>> local::list(uri const& root) const {
  auto const directory = directory_of(root);
  if (!directory) return directory.error();
  return detail::files_below(*directory);
}

PENSTOCK_INLINE result<void> local::reader::operator()(read_request<object> const& r) const {
  constexpr u64 most_bytes = u64{1} << 30;  // a call returns 2,147,479,552 at most
  constexpr int most_places = IOV_MAX < 256 ? IOV_MAX : 256;
  auto const& file = *r.from;
  if (auto fine = detail::check_request(r, file.shown_); !fine) return fine;

  auto const is_still = [&]() -> result<void> {
    detail::file_state now;
    if (!detail::look_at(file.descriptor_, now)) return detail::system_says(errno, "look at", file.shown_);
    if (now == file.seen_) return {};
    return error{error_kind::changed,
                 file.shown_ + " changed while it was read: it was " + file.seen_.text() + ", and is " + now.text() +
                     "; load again",
                 {.uri = file.shown_, .range = r.range}};
  };

  u64 done = 0;
  std::size_t place = 0, within = 0;  // the next byte to fill
  while (done < r.range.size.count) {
    iovec places[most_places];
    int count = 0;
    u64 asked = 0;
    for (std::size_t i = place, skip = within; i < r.to.size() && count < most_places && asked < most_bytes; ++i) {
      auto const n = std::min<u64>(r.to[i].bytes - skip, most_bytes - asked);
      if (n) places[count++] = {r.to[i].to + skip, static_cast<std::size_t>(n)};
      asked += n;
      skip = 0;
    }
    auto const got = read(file.descriptor_, places, count, static_cast<off_t>(r.range.first.count + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return detail::system_says(errno, "read", file.shown_);
    if (got == 0) {
      if (auto same = is_still(); !same) return same;
      return error{error_kind::format,
                   file.shown_ + " ends at byte " + std::to_string(r.range.first.count + done) + ": wanted " +
                       std::to_string(r.range.size.count) + " bytes from byte " + std::to_string(r.range.first.count) +
                       ", got " + std::to_string(done) + "; the file is cut short, fetch it again",
                   {.uri = file.shown_, .range = r.range}};
    }
    done += static_cast<u64>(got);
    for (u64 left = static_cast<u64>(got); place < r.to.size();) {
      u64 const room = r.to[place].bytes - within;
      if (left < room) {
        within += static_cast<std::size_t>(left);
        break;
      }
      left -= room;
      ++place;
      within = 0;
    }
  }
  return r.range.size.count ? is_still() : result<void>{};
}
}  // namespace storage
PENSTOCK_END
