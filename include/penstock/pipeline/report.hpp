#pragma once
#include <string>
#include <string_view>

#include <penstock/core/json_writer.hpp>

PENSTOCK_BEGIN
/// Seconds of one stage, summed over lanes.
struct stage_time {
  double busy = 0;
  double waiting = 0;
};

/// Where lanes spent their time.
///
/// read: inside the storage, and waiting for room among kept bytes; land: steps, copies on the host and callbacks of the
/// sink; drain: asking for, and waiting for, the events of copies.
struct stage_times {
  stage_time read;
  stage_time land;
  stage_time drain;
};

/// What a load did.
struct report {
  double seconds = 0;
  bytes bytes_needed;               ///< taken out of what was read, declined parameters not counted
  bytes bytes_read;                 ///< asked of the storage
  bytes bytes_discarded;            ///< read and not needed
  bytes bytes_exchanged;            ///< received from other ranks
  u64 requests = 0;                 ///< reads asked of the storage
  u64 retries = 0;                  ///< attempts that failed inside the storage and were made good
  u64 tensors = 0;                  ///< checkpoint tensors of the plan
  u64 parameters = 0;               ///< announced
  bytes peak_host_bytes;            ///< slots that were needed + transport + kept bytes
  bytes peak_device_staging_bytes;  ///< of these, slots in memory that an asynchronous device gave (pinned, for a GPU)
  bytes peak_retained_bytes;        ///< kept bytes
  double cpu_seconds = 0;           ///< of the lanes' threads, callbacks included
  stage_times stages;
  std::string limit = "none";  ///< what the load ran into: "storage", "copy", "memory limit"; "none": no read
  bytes bytes_direct;          ///< read straight into parameters
  u32 lanes = 0;
  u32 slots = 0;  ///< of each lane
  bytes slot_bytes;
  u32 depth = 0;  ///< reads outstanding in each lane, at most
};

namespace detail {
/// The stage in which most time went, as a word.
inline std::string judged_limit(stage_times const& t) {
  double const storage = t.read.busy, room = t.read.waiting, copy = t.land.busy + t.drain.busy + t.drain.waiting;
  if (storage + room + copy <= 0) return "none";
  if (room >= storage && room >= copy) return "memory limit";
  return storage >= copy ? "storage" : "copy";
}

inline void add_stage(json_object& to, std::string_view name, stage_time const& t) {
  json_object stage(to.key(name));
  stage.add("busy", t.busy);
  stage.add("waiting", t.waiting);
}
}  // namespace detail

/// One JSON object on one line, with the names of `report`'s members. Bytes are counts, times are seconds.
inline std::string to_json(report const& r) {
  std::string text;
  {
    detail::json_object o(text);
    o.add("seconds", r.seconds);
    o.add("bytes_needed", r.bytes_needed);
    o.add("bytes_read", r.bytes_read);
    o.add("bytes_discarded", r.bytes_discarded);
    o.add("bytes_exchanged", r.bytes_exchanged);
    o.add("requests", r.requests);
    o.add("retries", r.retries);
    o.add("tensors", r.tensors);
    o.add("parameters", r.parameters);
    o.add("peak_host_bytes", r.peak_host_bytes);
    o.add("peak_device_staging_bytes", r.peak_device_staging_bytes);
    o.add("peak_retained_bytes", r.peak_retained_bytes);
    o.add("cpu_seconds", r.cpu_seconds);
    {
      detail::json_object stages(o.key("stages"));
      detail::add_stage(stages, "read", r.stages.read);
      detail::add_stage(stages, "land", r.stages.land);
      detail::add_stage(stages, "drain", r.stages.drain);
    }
    o.add("limit", r.limit);
    o.add("bytes_direct", r.bytes_direct);
    o.add("lanes", u64{r.lanes});
    o.add("slots", u64{r.slots});
    o.add("slot_bytes", r.slot_bytes);
    o.add("depth", u64{r.depth});
  }
  return text;
}
PENSTOCK_END
