#pragma once
#include <chrono>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include <penstock/pipeline/trace.hpp>

#include "output.hpp"

/// What a load did and when, for a trace viewer (Perfetto, chrome://tracing): a process for each rank; in it a row for
/// each lane with what it spends its time on, and under it a row for each of its slots: `filling` is the request. Bytes
/// on their way and landed are counters.
///
/// @threads any number  @source "Trace Event Format": complete ("X"), instant ("i"), counter ("C"), metadata ("M") events
class trace {
 public:
  using clock = std::chrono::steady_clock;

  /// Something that took time, of the program itself. `name` lives as long as the trace.
  void span(char const* name, clock::time_point from, clock::time_point to);
  /// Something that happened in a rank.
  void mark(std::string name, unsigned rank);
  /// Plans that it heard of must still be there. @errors io
  penstock::result<void> write(output_file& to) const;

 private:
  friend struct tracing;
  struct activity_span {
    penstock::activity what;
    clock::time_point from, to;
  };
  struct slot_change {
    clock::time_point at;
    penstock::u32 slot, read, retries;
    penstock::slot_state now;
  };
  /// What one lane tells: only its thread writes.
  struct lane_events {
    penstock::plan const* plan;
    penstock::u32 number;
    std::vector<activity_span> spans;
    std::vector<slot_change> slots;
  };
  struct program_event {
    std::string name;
    unsigned rank;
    clock::time_point from, to;
  };

  lane_events& begin(penstock::plan const& p, penstock::u32 lane);
  double micros(clock::time_point t) const { return std::chrono::duration<double, std::micro>(t - start_).count(); }

  clock::time_point start_ = clock::now();
  std::mutex m_;
  std::deque<lane_events> lanes_;
  std::vector<program_event> spans_, marks_;
};

/// The trace policy of this program's loaders: with no trace, nothing is kept.
struct tracing {
  trace* to = nullptr;

  void begin(penstock::plan const& p, penstock::u32 lane) const noexcept;
  void spent(penstock::activity a, trace::clock::time_point from, trace::clock::time_point until) const noexcept;
  void slot(penstock::u32 slot, penstock::slot_state now, penstock::u32 read, penstock::u32 retries) const noexcept;
};
static_assert(penstock::trace_policy<tracing>);
