#include "dump.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

using namespace penstock;
namespace fs = std::filesystem;

result<void> parameter_folder::open(std::string const& path) {
  if (path.empty()) return {};
  std::error_code why;
  fs::create_directories(path, why);
  bool const empty = !why && fs::is_empty(path, why);
  if (why) return error{error_kind::io, "--dump: cannot write to the folder " + path + ": " + why.message()};
  if (!empty)
    return error{error_kind::usage,
                 "--dump: expected an empty folder, found files in " + path + "; name another folder, or empty it"};
  path_ = path;
  return {};
}

void parameter_folder::add(unsigned rank, parameter const& p, std::byte const* data) {
  auto const fail = [&](error_kind kind, std::string message) {
    std::lock_guard const lock(m_);
    if (failed_) failed_ = error{kind, "--dump: " + message};
  };
  if (p.name.empty() || p.name.find('/') != p.name.npos || p.name.find('\0') != p.name.npos || p.name[0] == '.')
    return fail(error_kind::usage, "expected names that a file can have, found \"" + p.name + "\"");
  auto const folder = fs::path{path_} / ("rank" + std::to_string(rank));
  std::error_code why;
  fs::create_directories(folder, why);
  auto const file = folder / p.name;
  std::FILE* const f = std::fopen(file.c_str(), "wb");
  bool written = f && (!p.size.count || std::fwrite(data, p.size.count, 1, f) == 1);
  if (f) written &= std::fclose(f) == 0;
  if (!written) fail(error_kind::io, "cannot write " + file.string() + ": " + std::strerror(errno));
}

result<void> parameter_folder::commit() { return std::move(failed_); }
