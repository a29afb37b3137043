#pragma once
#include <algorithm>
#include <string>

#include <penstock/plan/plan.hpp>
#include <penstock/storage/backend.hpp>

PENSTOCK_BEGIN
/// What a plan may use and how.
struct plan_options {
  std::string_view quant{};             ///< a scheme of the map; empty: what config.json declares
  bytes memory_limit = mebibytes(512);  ///< staging, transport and kept bytes; not what the engine keeps
  bytes slot{};                         ///< 0: chosen to fit
  u32 lanes = 0;                        ///< 0: what the storage likes
  bool rotate = true;                   ///< ranks begin with different objects; false: all read in the order of layers
  storage_traits storage{};  ///< its bandwidth and gap price a strided slice: rows alone, or read over the gaps
};

namespace detail {
inline std::string in_bytes(bytes b) { return std::to_string(b.count) + " bytes"; }

/// Divides the memory limit into lanes, slots and transport: as many and as large as the storage likes, less where that
/// does not fit. A slot that was asked for is kept as asked.
/// @errors usage: a slot that no read can have; plan: one lane with one slot does not fit
inline result<memory_division> divide_memory(plan_options const& o, bytes kept) {
  constexpr bytes least = bytes{4096}, most = gibibytes(2);
  if (o.slot.count && (o.slot < bytes{512} || o.slot > most))
    return error{error_kind::usage, "expected a slot between 512 bytes and 2 GiB, found " + in_bytes(o.slot)};
  memory_division m;
  m.limit = o.memory_limit, m.kept = kept;
  m.slot = o.slot.count ? o.slot : mebibytes(4);
  m.depth = std::max(1u, o.storage.depth);
  m.lanes = std::max(1u, o.lanes ? o.lanes : o.storage.lanes);
  auto const settle = [&] {
    m.slots = m.depth > 1 ? m.depth + 1 : 2;  // one more than is being read: it is copied out meanwhile
    m.transport = u64{m.lanes} * m.depth * o.storage.transport_per_read;
    return m.total() <= m.limit;
  };
  bytes const comfortable = o.slot.count ? m.slot : mebibytes(1);
  while (!settle()) {
    if (m.slot > comfortable) m.slot = bytes{m.slot.count / 2};
    else if (m.lanes > 1) m.lanes = (m.lanes + 1) / 2;
    else if (m.depth > 2) m.depth = (m.depth + 1) / 2;
    else if (!o.slot.count && m.slot > bytes{65536}) m.slot = bytes{m.slot.count / 2};
    else if (m.depth > 1) m.depth = 1;
    else if (!o.slot.count && m.slot > least) m.slot = bytes{m.slot.count / 2};
    else break;
  }
  if (m.total() > m.limit) m.slots = 1;
  if (m.total() > m.limit)
    return error{error_kind::plan, "expected a memory limit of at least " + in_bytes(m.total()) +
                                       " for this rank (slots " + in_bytes(m.ring()) + ", transport " +
                                       in_bytes(m.transport) + ", kept " + in_bytes(m.kept) + "), found " +
                                       in_bytes(m.limit) + "; raise the limit" +
                                       (o.slot.count ? " or choose a smaller slot" : "")};
  return m;
}
}  // namespace detail
PENSTOCK_END
