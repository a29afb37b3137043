#include "output.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

using namespace penstock;

error output_file::failed(char const* what) const {
  return error{error_kind::io,
               std::string{"cannot "} + what + " " + path_ + ": " + std::strerror(errno) + "; choose another place"};
}

result<output_file> output_file::create(std::string path) {
  output_file f;
  f.path_ = std::move(path);
  if (f.path_ == "-") return f.file_ = stdout, std::move(f);
  std::error_code none;
  if (auto const target = std::filesystem::canonical(f.path_, none); !none) f.path_ = target;  // what a link means
  bool const in_place = std::filesystem::exists(f.path_, none) && !std::filesystem::is_regular_file(f.path_, none);
  if (!in_place) f.temporary_ = f.path_ + ".part" + std::to_string(::getpid());
  f.file_ = std::fopen(in_place ? f.path_.c_str() : f.temporary_.c_str(), "w");
  if (!f.file_) return f.failed("write");
  return f;
}

output_file::output_file(output_file&& o) noexcept
    : file_(std::exchange(o.file_, nullptr)),
      path_(std::move(o.path_)),
      temporary_(std::exchange(o.temporary_, std::string{})) {}

output_file::~output_file() {
  if (file_ && file_ != stdout) std::fclose(file_);
  if (!temporary_.empty()) std::remove(temporary_.c_str());
}

void output_file::write_line(std::string const& line) {
  std::fwrite(line.data(), 1, line.size(), file_);
  std::fputc('\n', file_);
}

result<void> output_file::write(std::span<std::byte const> data) {
  if (std::fwrite(data.data(), 1, data.size(), file_) != data.size()) return failed("write");
  return {};
}

result<void> output_file::extend_to(bytes size) {
  if (std::fflush(file_) || ::ftruncate(::fileno(file_), static_cast<off_t>(size.count))) return failed("write");
  return {};
}

result<void> output_file::close() {
  bool const bad = std::ferror(file_) || std::fflush(file_);
  if (std::fclose(std::exchange(file_, nullptr)) || bad) return failed("write");
  return {};
}

result<void> output_file::commit() {
  if (file_ == stdout) return std::fflush(stdout) ? result<void>{failed("write")} : result<void>{};
  if (file_)
    if (auto r = close(); !r) return r;
  if (!temporary_.empty() && std::rename(temporary_.c_str(), path_.c_str())) return failed("write");
  temporary_.clear();
  return {};
}

result<void> write_file(std::string const& path, std::string const& line) {
  auto f = output_file::create(path);
  if (!f) return std::move(f).error();
  f->write_line(line);
  return f->commit();
}
