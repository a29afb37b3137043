#pragma once
#include <cstddef>
#include <cstdio>
#include <span>
#include <string>

#include <penstock/core/result.hpp>

/// A file that appears whole or not at all: written beside its place, renamed by `commit`. "-" is standard output. A
/// device or a pipe is written as it is, and a symbolic link means its target.
class output_file {
 public:
  /// @errors io
  static penstock::result<output_file> create(std::string path);
  output_file(output_file&& o) noexcept;
  output_file& operator=(output_file&&) = delete;
  ~output_file();

  void write_line(std::string const& line);
  /// @errors io: disk full and the like
  penstock::result<void> write(std::span<std::byte const> data);
  /// Makes the file so long; what was not written is a hole. Comes last. @errors io
  penstock::result<void> extend_to(penstock::bytes size);
  /// Ends the writing: `commit` only renames then. Of many files, few need to be open at once. @errors io
  penstock::result<void> close();
  /// @errors io: disk full and the like
  penstock::result<void> commit();

 private:
  output_file() = default;
  penstock::error failed(char const* what) const;
  std::FILE* file_ = nullptr;
  std::string path_, temporary_;
};

/// Writes one line to a file, whole or not at all.
penstock::result<void> write_file(std::string const& path, std::string const& line);
