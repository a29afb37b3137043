#pragma once
#include <mutex>
#include <optional>
#include <string>

#include <penstock/plan/plan.hpp>

#include "output.hpp"

/// SHA-256 of `size` bytes, as 64 hexadecimal digits.
std::string sha256(std::byte const* data, penstock::bytes size);

/// Writes a line for each rank and parameter: `{"rank":0,"name":"...","dtype":"BF16","shape":[..],"sha256":".."}`.
/// @threads any number
class digest_file {
 public:
  /// An empty path: no digests. @errors io
  penstock::result<void> open(std::string const& path);
  [[nodiscard]] bool wanted() const noexcept { return file_.has_value(); }
  void add(unsigned rank, penstock::parameter const& p, std::byte const* data);
  penstock::result<void> commit();

 private:
  std::mutex m_;
  std::optional<output_file> file_;
};
