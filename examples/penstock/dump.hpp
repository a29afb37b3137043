#pragma once
#include <mutex>
#include <string>

#include <penstock/core/result.hpp>
#include <penstock/plan/plan.hpp>

/// Writes the bytes of each rank's parameters, row-major: DIR/rank0/model.norm.weight. For looking and for comparing.
/// @threads any number
class parameter_folder {
 public:
  /// An empty path: no dump. @errors io; usage: there is something in the folder
  penstock::result<void> open(std::string const& path);
  [[nodiscard]] bool wanted() const noexcept { return !path_.empty(); }
  void add(unsigned rank, penstock::parameter const& p, std::byte const* data);
  /// @errors the first of all writes
  penstock::result<void> commit();

 private:
  std::mutex m_;
  std::string path_;
  penstock::result<void> failed_;
};
