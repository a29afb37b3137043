#pragma once
#include <algorithm>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include <penstock/plan/plan.hpp>

PENSTOCK_BEGIN
namespace detail {
/// A box of a file that goes to a box of a parameter, both in bytes. `object == no_object`: zeros.
struct transfer {
  object_id object = no_object;
  param_id to{};
  u64 from = 0, from_pitch = 0;  ///< in the file
  u64 at = 0, at_pitch = 0;      ///< in the parameter
  u64 width = 0, rows = 1;
  u64 row = 0;  ///< bytes of a row of the parameter: where a run of bytes is best cut

  /// The same as one run of bytes, where rows follow each other on both sides.
  constexpr transfer joined() const noexcept {
    auto t = *this;
    if (rows > 1 && from_pitch == width && at_pitch == width) t.width *= rows, t.rows = 1;
    if (t.rows == 1) t.from_pitch = t.at_pitch = t.width;
    return t;
  }
  /// Are the same bytes of a file to be laid out alike, in another place? Then they are read once.
  constexpr bool same_bytes(transfer const& o) const noexcept {
    return object != no_object && object == o.object && from == o.from && width == o.width && rows == o.rows &&
           row == o.row && (rows == 1 || (from_pitch == o.from_pitch && at_pitch == o.at_pitch));
  }
};

/// Packs transfers into reads of at most a slot: neighbours are joined over small gaps, large ones are cut, at whole rows
/// where a row fits a slot. Transfers come ordered by object and offset; bytes that overlap are read again.
class read_packer {
 public:
  /// @param gap  two boxes closer than this are read as one
  read_packer(plan& into, bytes slot, bytes gap) : plan_(into), slot_(slot.count), gap_(gap.count) {}

  /// @param also  other places of the same bytes
  void add(transfer const& whole, std::span<transfer const> also = {}) {
    auto t = whole.joined();
    if (!t.width || !t.rows) return;
    first_at_ = t.at, also_ = also;
    if (by_row(t)) {
      for (u64 i = 0; i < t.rows; ++i) {
        if (i == 1) i += add_apart(t);
        add_run(row_of(t, i));
      }
    } else if (t.rows > 1) {
      add_rows(t);
    } else {
      add_run(t);
    }
  }
  void finish() { close(); }
  /// Makes room for what these come to, nearly.
  void reserve(std::vector<transfer> const& all) {
    u64 n = 0;
    for (auto const& whole : all) {
      auto const t = whole.joined();
      n += (by_row(t) ? t.rows : 0) + t.rows * t.width / slot_ + 1;
    }
    plan_.copies.reserve(n), plan_.reads.reserve(n);
  }

 private:
  /// Is each row read by itself? A request is as dear as the bytes of a gap: where less lies between two rows, it is read.
  bool by_row(transfer const& t) const noexcept {
    return t.rows > 1 && (t.from_pitch - t.width > gap_ || t.width > slot_ || t.at_pitch > ~u32{});
  }
  static transfer row_of(transfer t, u64 i) noexcept {
    t.from += i * t.from_pitch, t.at += i * t.at_pitch, t.rows = 1;
    return t;
  }
  /// A read for each row but the first and the last, where no other can join it. @returns how many rows
  u64 add_apart(transfer const& t) {
    if (t.rows < 3 || t.from_pitch - t.width <= gap_ || t.width > slot_) return 0;
    close();
    u64 const n = t.rows - 2;
    auto const width = static_cast<u32>(t.width), each = static_cast<u32>(1 + also_.size());
    auto copy = static_cast<u32>(plan_.copies.size());
    plan_copy c{.to = index_of(t.to), .width = width, .from_pitch = width, .at_pitch = width, .at = t.at};
    plan_read r{t.object, width, t.from, copy, copy};
    for (u64 i = 1; i <= n; ++i) {
      c.at += t.at_pitch, r.first += t.from_pitch;
      r.copies = std::exchange(r.copies_end, r.copies_end + each);
      put(c);
      plan_.reads.push_back(r);
    }
    plan_.needed += bytes{n * width}, plan_.read += bytes{n * width}, plan_.requests += n;
    return n;
  }
  void add_run(transfer t) {
    while (t.width) {
      u64 take = std::min(t.width, room_at(t));
      if (take < t.width) {
        bool const row_fits = t.row <= slot_;
        u64 const into_row = t.at % t.row;
        if (row_fits) {
          u64 const past = (into_row + take) % t.row;
          take = past < take ? take - past : 0;
        } else {
          take = std::min(take, t.row - into_row);
        }
      } else if (t.row > slot_) {
        take = std::min(take, t.row - t.at % t.row);
      }
      if (!take) {
        close();
        continue;
      }
      append(t, take, 1);
      t.from += take, t.at += take, t.width -= take;
    }
  }
  void add_rows(transfer t) {
    while (t.rows) {
      u64 const room = room_at(t);
      if (room < t.width) {
        close();
        continue;
      }
      u64 const n = std::min({t.rows, (room - t.width) / t.from_pitch + 1, u64{std::numeric_limits<u32>::max()}});
      append(t, t.width, n);
      t.from += n * t.from_pitch, t.at += n * t.at_pitch, t.rows -= n;
    }
  }
  /// How much of the open read is left for bytes that begin at t.from; a whole slot where a new read begins.
  u64 room_at(transfer const& t) {
    if (open_) {
      u64 const end = read_.first + read_.size;
      bool const follows =
          t.object == read_.object && (t.object == no_object || (t.from >= end && t.from - end <= gap_));
      u64 const skip = t.object == no_object ? 0 : t.from - end;
      if (follows && read_.size + skip < slot_) return slot_ - read_.size - skip;
      close();
    }
    return slot_;
  }
  void append(transfer const& t, u64 width, u64 rows) {
    if (!open_) {
      read_ = {t.object, 0, t.object == no_object ? 0 : t.from, static_cast<u32>(plan_.copies.size()), 0};
      open_ = true;
    }
    u64 const from = t.object == no_object ? read_.size : t.from - read_.first;
    u64 const pitch = rows > 1 ? t.from_pitch : width;
    plan_copy c;
    c.to = index_of(t.to);
    c.from = static_cast<u32>(from), c.width = static_cast<u32>(width), c.rows = static_cast<u32>(rows),
    c.from_pitch = static_cast<u32>(pitch);
    c.at = t.at, c.at_pitch = static_cast<u32>(rows > 1 ? t.at_pitch : width);
    read_.size = static_cast<u32>(from + (rows - 1) * pitch + width);
    put(c);
    if (t.object != no_object) plan_.needed += bytes{rows * width};
  }
  void put(plan_copy c) {
    plan_.copies.push_back(c);
    ++plan_.parameters[c.to].pieces;
    u64 const into = c.at - first_at_;
    for (auto const& other : also_) {
      c.to = index_of(other.to), c.at = other.at + into;
      plan_.copies.push_back(c);
      ++plan_.parameters[c.to].pieces;
    }
  }
  void close() {
    if (!open_) return;
    read_.copies_end = static_cast<u32>(plan_.copies.size());
    plan_.reads.push_back(read_);
    if (read_.object != no_object) plan_.read += bytes{read_.size}, ++plan_.requests;
    open_ = false;
  }

  plan& plan_;
  u64 slot_, gap_;
  u64 first_at_ = 0;  // of the transfer that is being added
  std::span<transfer const> also_{};
  plan_read read_{};
  bool open_ = false;
};
}  // namespace detail
PENSTOCK_END
