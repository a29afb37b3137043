#pragma once
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <penstock/core/index.hpp>
#include <penstock/core/shape.hpp>
#include <penstock/tensor/region.hpp>
#include <penstock/tensor/stored_rows.hpp>

PENSTOCK_BEGIN
/// What the engine computes with, on one rank. `id` is its place in plan.parameters.
struct parameter {
  std::string name;
  dtype type{};
  penstock::shape shape;
  bytes size;  ///< tight, row-major
  bytes row;   ///< of the innermost dimension; `size` for rank 0 and 1
  layer_id layer{};
  param_id id{};
  u32 pieces = 0;        ///< copies that write it; 0: complete from the start, unless it is derived
  bool derived = false;  ///< made of others when they are complete, never read
};

/// What is made of a linear's complete parts: of each head, some of its rows as plain numbers.
struct derived_parameter {
  param_id to{};             ///< [heads, count, k], or [heads, k, count]; BF16, F16 or F32
  u64 head = 1;              ///< rows of the linear for one head
  u64 first = 0, count = 0;  ///< of them
  bool transposed = false;
};
/// A linear [n, k] and what is made of it. All its parts and results are announced together.
struct derivation {
  std::vector<param_id> sources{};  ///< the payload, then the scheme's other parts
  std::vector<derived_parameter> results{};
  u64 n = 0, k = 0;               ///< on this rank
  std::array<u64, 2> unit{1, 1};  ///< of the first of the other parts, see stored_rows
  u64 packed = 1;                 ///< elements of K in one stored element of the payload
  dequantise_rows* numbers = nullptr;
};

/// One box of a read's bytes and where it goes: `rows` rows of `width` bytes. Never computed while loading.
struct plan_copy {
  enum class what : u8 { place, keep, step } kind = what::place;
  u32 to = 0;                 ///< the parameter; for keep: the group
  group_id group = no_group;  ///< for step: the group whose kept bytes it needs
  u32 from = 0;               ///< offset in the read, bytes
  u32 width = 0;              ///< bytes of a row
  u32 rows = 1;
  u32 from_pitch = 0;  ///< bytes from row to row in the read
  u32 at_pitch = 0;    ///< bytes from row to row in the parameter, or in the group's kept bytes
  u64 at = 0;          ///< offset there

  constexpr param_id parameter() const noexcept { return param_id{to}; }
  constexpr group_id kept_in() const noexcept { return group_id{to}; }
  /// Where a row begins in the read, and in the parameter or the group's kept bytes.
  constexpr u64 from_row(u64 row) const noexcept { return from + row * from_pitch; }
  constexpr u64 at_row(u64 row) const noexcept { return at + row * at_pitch; }
  /// The box inside the parameter.
  constexpr region where() const noexcept { return {bytes{at}, bytes{width}, rows, bytes{at_pitch}}; }
};

/// One range of one object, at most a slot long. `object == no_object`: these bytes are zeros and nothing is read.
struct plan_read {
  object_id object = no_object;
  u32 size = 0;    ///< bytes
  u64 first = 0;   ///< offset in the object
  u32 copies = 0;  ///< its copies: plan.copies[copies, copies_end), ordered by `from`
  u32 copies_end = 0;
};

static_assert(sizeof(plan_copy) + sizeof(plan_read) <= 64,
              "a plan has a read for each copy where it takes single rows");

/// Small tensors that wait, owned, and the steps that large ones take past them, in place in their slot.
struct plan_group {
  u32 size = 0;   ///< kept bytes
  u32 keeps = 0;  ///< copies of kind keep
  u32 steps = 0;  ///< copies of kind step
  /// Runs a step on `n` bytes of a piece, in place. Must not throw.
  void (*run)(std::byte const* kept, std::byte* piece, std::size_t n, plan_copy const&) = nullptr;
};

/// One of the models that a plan is for: its parameters are plan.parameters[first, end), its layers begin with `layer`.
struct plan_model {
  std::string arch;
  u32 first = 0, end = 0;
  layer_id layer{};
};

/// How the memory limit is divided before the first byte.
struct memory_division {
  static constexpr u64 alignment = 4096;  ///< of slots, bytes

  u32 lanes = 1;  ///< threads
  u32 slots = 2;  ///< of each lane
  u32 depth = 1;  ///< reads outstanding in each lane
  bytes slot = mebibytes(4);
  bytes transport;  ///< estimate for all lanes
  bytes kept;       ///< peak of kept bytes, when reads finish one after the other
  bytes limit;

  /// From slot to slot: whole pages. Direct I/O wants it, and no two owners share a cache line or a sanitizer's granule.
  constexpr bytes stride() const noexcept { return bytes{(slot.count + alignment - 1) / alignment * alignment}; }
  constexpr bytes ring() const noexcept { return u64{lanes} * slots * stride(); }
  constexpr bytes total() const noexcept { return ring() + transport + kept; }
};

/// What a plan should take by the stated bandwidths, in seconds; the stages overlap, so the larger counts.
struct plan_price {
  static constexpr bytes copy_bandwidth = gibibytes(8);  ///< of one thread's copies from slots to host memory, a second
  static constexpr double copy_seconds = 20e-9;          ///< each copy
  double read = 0;                                       ///< with all lanes and their outstanding reads at once
  double copy = 0;                                       ///< if every byte goes through a slot
};

/// What to read and where it goes on one rank: a pure value, without addresses.
struct plan {
  std::string uri;                   ///< of the checkpoint, for messages
  std::vector<std::string> objects;  ///< names of the shards, by object_id
  std::vector<plan_read> reads;      ///< in the order of admission
  std::vector<plan_copy> copies;
  std::vector<plan_group> groups;
  std::vector<parameter> parameters;
  std::vector<derivation> derivations;
  std::vector<plan_model> models;
  u32 layers = 0;  ///< layer_id runs over [0, layers)
  memory_division memory;

  u32 rank = 0;
  u32 ranks = 1;
  u64 input_hash = 0;  ///< of checkpoint, map, config, topology and options: equal on all ranks
  bytes needed;        ///< what the copies take out of the reads; zeros not counted
  bytes read;          ///< sum of the reads
  bytes discarded;     ///< read and not needed
  u64 requests = 0;    ///< reads of objects
  u64 tensors = 0;     ///< checkpoint tensors that are read
  double seconds = 0;  ///< spent planning
  plan_price price;
  std::vector<std::pair<std::string, param_id>> aliases;  ///< names that mean another's parameter: a tied head

  /// By its name or an alias of it, in the first model that has it; null where there is none. @cost linear in the
  /// parameters
  [[nodiscard]] parameter const* find(std::string_view name) const& noexcept {
    for (auto const& p : parameters)
      if (p.name == name) return &p;
    for (auto const& [alias, id] : aliases)
      if (alias == name) return &parameters[index_of(id)];
    return nullptr;
  }
  void find(std::string_view) const&& = delete;  // guard: parameter_of_a_temporary_plan
};
PENSTOCK_END
