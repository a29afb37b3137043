#pragma once
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <penstock/core/result.hpp>
#include <penstock/pipeline/sink.hpp>

PENSTOCK_BEGIN
namespace detail {
/// A memory that exists only to ask a device whether it writes this space.
template <memory_space S>
struct memory_of_space {
  static constexpr memory_space space = S;
  static void* allocate(std::size_t) noexcept { return nullptr; }
  static void release(void*, std::size_t) noexcept {}
};

template <class Device>
constexpr bool writes_space(memory_space s) noexcept {
  return s == memory_space::host ? bool{Device::template writes<memory_of_space<memory_space::host>>}
                                 : bool{Device::template writes<memory_of_space<memory_space::cuda>>};
}

/// Where each parameter of one load lies.
///
/// @threads a parameter is bound before one of its reads is admitted, in the order of admission; then only looked at
class destinations {
 public:
  explicit destinations(std::size_t parameters) : places_(parameters), reached_(parameters) {}

  /// @param reached  may the host write there itself?  @errors usage: pitches that the parameter cannot have
  result<void> bind(parameter const& p, placement const& to, bool reached) {
    auto& mine = places_[index_of(p.id)];
    if (to.row_pitch.count || to.expert_stride.count) {
      auto pitched = pitches_of(p, to);
      if (!pitched) return std::move(pitched.error());
      if (!pitched->tight()) mine.pitched = std::make_unique<pitches const>(*pitched);
    }
    reached_[index_of(p.id)] = reached;
    mine.at = to.at;
    return {};
  }

  [[nodiscard]] bool bound(u32 parameter) const noexcept { return places_[parameter].at; }
  [[nodiscard]] bool reached(u32 parameter) const noexcept { return reached_[parameter]; }

  /// Cuts `width` bytes from byte `offset` of the parameter into runs: calls `f(to, n)` for each, in order.
  template <class F>
  void runs(u32 parameter, u64 offset, u64 width, F&& f) const {
    auto const& mine = places_[parameter];
    if (!mine.pitched) return f(mine.at + offset, width);
    auto const& by = *mine.pitched;
    while (width) {
      u64 const row = offset / by.row, column = offset % by.row, n = std::min(width, by.row - column);
      f(mine.at + row / by.matrix_rows * by.expert_stride + row % by.matrix_rows * by.row_pitch + column, n);
      offset += n, width -= n;
    }
  }

  /// Appends the copies that bring the box `c`, whose first byte lies at `from`, to its place.
  void append(std::vector<copy_op>& ops, plan_copy const& c, std::byte const* from) const {
    auto const& mine = places_[c.to];
    if (!mine.pitched) {
      ops.push_back({mine.at + c.at, from, c.width, c.rows, c.at_pitch, c.from_pitch});
      return;
    }
    auto const mine_begins = ops.size();
    for (u32 row = 0; row < c.rows; ++row) {
      auto const* at = from + (c.from_row(row) - c.from);
      runs(c.to, c.at_row(row), c.width, [&](std::byte* to, u64 n) {
        if (ops.size() == mine_begins || !continues(ops.back(), to, at, n))
          ops.push_back({to, at, static_cast<u32>(n), 1, 0, 0});
        at += n;
      });
    }
  }

 private:
  struct pitches {
    u64 row, row_pitch, matrix_rows, expert_stride;
    bool tight() const noexcept { return row == row_pitch && expert_stride == matrix_rows * row_pitch; }
  };
  struct place {
    std::byte* at = nullptr;
    std::unique_ptr<pitches const> pitched{};  // null: tight
  };

  static result<pitches> pitches_of(parameter const& p, placement const& to) {
    auto const wrong = [&](char const* what, u64 least, u64 found) {
      error e{error_kind::usage, std::string("expected ") + what + " of at least " + std::to_string(least) +
                                     " bytes for parameter " + p.name + ", found " + std::to_string(found)};
      e.where().tensor = p.name;
      return e;
    };
    pitches by{std::max<u64>(p.row.count, 1), 0, 1, 0};
    unsigned const rank = p.shape.rank();
    if (rank >= 2) by.matrix_rows = std::max<u64>(p.shape[rank - 2], 1);
    by.row_pitch = to.row_pitch.count ? to.row_pitch.count : by.row;
    if (by.row_pitch < by.row) return wrong("a row pitch", by.row, by.row_pitch);
    u64 const matrix = (by.matrix_rows - 1) * by.row_pitch + by.row;
    by.expert_stride = rank >= 3 && to.expert_stride.count ? to.expert_stride.count : by.matrix_rows * by.row_pitch;
    if (by.expert_stride < matrix) return wrong("an expert stride", matrix, by.expert_stride);
    return by;
  }

  /// Is this run the next row of `op`? Then it becomes one.
  static bool continues(copy_op& op, std::byte* to, std::byte const* from, u64 width) {
    if (width != op.width || to <= op.to || from <= op.from) return false;
    u64 const to_gap = static_cast<u64>(to - op.to), from_gap = static_cast<u64>(from - op.from);
    if (op.rows == 1) op.to_pitch = to_gap, op.from_pitch = from_gap;
    else if (to_gap != op.rows * op.to_pitch || from_gap != op.rows * op.from_pitch) return false;
    ++op.rows;
    return true;
  }

  std::vector<place> places_;
  std::vector<u8> reached_;  // not bits: neighbours are written by different threads
};
}  // namespace detail
PENSTOCK_END
