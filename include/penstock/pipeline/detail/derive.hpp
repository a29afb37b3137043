#pragma once
#include <cstring>
#include <vector>

#include <penstock/core/numbers.hpp>
#include <penstock/pipeline/detail/destinations.hpp>

PENSTOCK_BEGIN
namespace detail {
/// Makes one derived parameter on the host: its source is complete, and nobody else looks at it or at the result.
///
/// The numbers of one head at a time; plain ones are moved, not converted, so every bit stays as it is.
class derive_step {
 public:
  derive_step(plan const& p, destinations const& places, derivation const& d, derived_parameter const& to)
      : p_(p), places_(places), d_(d), to_(to), element_(bits_of(result().type) / 8) {}

  void run() {
    for (std::size_t i = 1; i < d_.sources.size(); ++i) {
      auto const& side = p_.parameters[index_of(d_.sources[i])];
      sides_.emplace_back(side.size.count);
      gather(side, 0, side.size.count, sides_.back().data());
    }
    rows_.resize(to_.count * d_.k * element_);
    line_.resize((to_.transposed ? to_.count : d_.k) * element_);
    for (u64 head = 0; head < d_.n / to_.head; ++head) {
      take_rows(head * to_.head + to_.first);
      put_head(head);
    }
  }

 private:
  parameter const& result() const { return p_.parameters[index_of(to_.to)]; }
  parameter const& payload() const { return p_.parameters[index_of(d_.sources[0])]; }

  void gather(parameter const& from, u64 first, u64 n, std::byte* to) const {
    places_.runs(index_of(from.id), first, n, [&](std::byte const* at, u64 run) {
      std::memcpy(to, at, run);
      to += run;
    });
  }
  /// The rows of one head, as numbers of the result's type.
  void take_rows(u64 first) {
    u64 const row = (d_.k + d_.packed - 1) / d_.packed * bits_of(payload().type) / 8;
    if (payload().type == result().type) return gather(payload(), first * row, to_.count * row, rows_.data());
    stored_.resize(row), numbers_.resize(d_.k);
    stored_rows rows{d_.n, d_.k, first, 1, payload().type, stored_.data(), {}, d_.unit, d_.packed, {}};
    if (d_.sources.size() > 1) rows.side_type = p_.parameters[index_of(d_.sources[1])].type;
    for (std::size_t i = 0; i < sides_.size(); ++i) rows.sides[i] = sides_[i].data();
    for (u64 r = 0; r < to_.count; ++r, ++rows.first) {
      gather(payload(), rows.first * row, row, stored_.data());
      d_.numbers(rows, numbers_.data());
      for (u64 c = 0; c < d_.k; ++c) {
        u16 const x = bf16_of_float(numbers_[c]);
        std::memcpy(rows_.data() + 2 * (r * d_.k + c), &x, sizeof x);
      }
    }
  }
  void put_head(u64 head) {
    u64 const lines = to_.transposed ? d_.k : to_.count, width = line_.size();
    for (u64 i = 0; i < lines; ++i) {
      std::byte const* from = rows_.data() + i * width;
      if (to_.transposed) {
        for (u64 r = 0; r < to_.count; ++r)
          std::memcpy(line_.data() + r * element_, rows_.data() + (r * d_.k + i) * element_, element_);
        from = line_.data();
      }
      places_.runs(index_of(to_.to), (head * lines + i) * width, width, [&](std::byte* at, u64 run) {
        std::memcpy(at, from, run);
        from += run;
      });
    }
  }

  plan const& p_;
  destinations const& places_;
  derivation const& d_;
  derived_parameter const& to_;
  u64 element_;
  std::vector<std::vector<std::byte>> sides_{};
  std::vector<std::byte> rows_{}, line_{}, stored_{};
  std::vector<float> numbers_{};
};
}  // namespace detail
PENSTOCK_END
