#pragma once
#include <stdlib.h>

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include <penstock/core/uri.hpp>

namespace fixture {
/// A folder that is empty at the beginning and gone at the end.
class folder {
 public:
  folder() {
    std::string name = (std::filesystem::temp_directory_path() / "penstock_unit.XXXXXX").string();
    BOOST_REQUIRE(::mkdtemp(name.data()) != nullptr);
    path_ = std::filesystem::canonical(name);
  }
  folder(folder const&) = delete;
  folder& operator=(folder const&) = delete;
  ~folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  std::string operator/(std::string_view name) const { return (path_ / name).string(); }
  std::string text() const { return path_.string(); }
  penstock::uri uri(std::string_view below = "") const {
    return *penstock::uri::parse(below.empty() ? text() : *this / below);
  }
  std::string write(std::string_view name, std::string_view content) const {
    auto const path = path_ / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream{path, std::ios::binary} << content;
    return path.string();
  }

 private:
  std::filesystem::path path_;
};

inline std::string read(std::filesystem::path const& path) {
  std::ifstream file{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{file}, {}};
}
inline bool has(std::string const& text, std::string_view part) { return text.find(part) != text.npos; }

/// Files that this process has open.
inline std::size_t open_files() {
  std::size_t n = 0;
  for (auto const& entry : std::filesystem::directory_iterator{"/proc/self/fd"}) static_cast<void>(entry), ++n;
  return n;
}
}  // namespace fixture
