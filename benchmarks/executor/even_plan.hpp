#pragma once
// Plans of equal reads with equal copies, and a sink that places them side by side.
#include <cstdio>
#include <cstdlib>
#include <span>

#include <penstock/pipeline/executor.hpp>

namespace benchmarks {
using namespace penstock;

/// Places parameter i at `at + i * each`.
struct array_sink {
  std::byte* at;
  u64 each = 0;
  placement destination(parameter const& p) {
    placement to;
    to.at = at + index_of(p.id) * each;
    return to;
  }
};
struct counting_sink : array_sink {
  u64 announced = 0;
  void ready(parameter const&) { ++announced; }
};

/// Reads of `slot` bytes with `pieces` copies each, into one parameter or into one each.
inline plan even_plan(u64 total, u32 slot, u32 pieces, bool one_parameter) {
  plan p;
  p.layers = 1;
  p.objects = {"object"};
  u64 const each = slot / pieces;
  auto const add = [&](u64 size) {
    auto const id = static_cast<u32>(p.parameters.size());
    p.parameters.push_back({"p", dtype::uint8, {size}, bytes{size}, bytes{size}, layer_id{0}, param_id{id}, 0});
  };
  if (one_parameter) add(total);
  for (u64 first = 0; first < total; first += slot) {
    auto const copies = static_cast<u32>(p.copies.size());
    for (u32 i = 0; i < pieces; ++i) {
      if (!one_parameter) add(each);
      auto& q = p.parameters.back();
      ++q.pieces;
      p.copies.push_back({plan_copy::what::place, index_of(q.id), no_group, static_cast<u32>(i * each),
                          static_cast<u32>(each), 1, 0, 0, one_parameter ? first + i * each : 0});
    }
    p.reads.push_back({object_id{0}, slot, first, copies, static_cast<u32>(p.copies.size())});
  }
  p.needed = p.read = bytes{total};
  return p;
}
inline void give_memory(plan& p, u32 lanes, u32 slots, u64 slot) {
  p.memory = {lanes, slots, 1, bytes{slot}, {}, {}, gibibytes(8)};
}

template <class Storage, class Device, class Sink>
void must_load(Storage& s, Device& d, plan const& p, std::span<typename Storage::object const> objects, Sink& sink,
               load_options const& o) {
  auto const r = executor<Storage, Device>(s, d).load(p, objects, sink, o);
  if (!r) std::fprintf(stderr, "%s\n", r.error().what()), std::exit(1);
}
}  // namespace benchmarks
