#include "synth_values.hpp"

#include <algorithm>
#include <cstring>

#include <penstock/arch/name.hpp>

using namespace penstock;

namespace {
/// The values of a dtype where the name ends so.
struct pattern {
  dtype type;
  std::string_view name_ends;
  u64 base, mask;
};
/// The first that fits counts.
constexpr pattern patterns[] = {
    {dtype::f32, ".weight_scale_inv", 0x3b800000, 0x01ffffff},
    {dtype::f32, ".weight_scale", 0x3b800000, 0x01ffffff},
    {dtype::bf16, ".weight_scale", 0x3b80, 0x01ff},
    {dtype::f16, ".weight_scale", 0x1c00, 0x0fff},
    {dtype::uint8, "_scales", 0x78, 0x03},
    {dtype::uint8, "_blocks", 0x00, 0xff},
    {dtype::int32, ".weight_packed", 0, 0xffffffff},
    {dtype::bf16, "norm.weight", 0x3f60, 0x003f},
    {dtype::f16, "norm.weight", 0x3b00, 0x01ff},
    {dtype::f32, "norm.weight", 0x3f600000, 0x003fffff},
    {dtype::bf16, "", 0x3c00, 0x81ff},
    {dtype::f16, "", 0x2000, 0x8fff},
    {dtype::f32, "", 0x3c000000, 0x81ffffff},
    {dtype::f8_e4m3, "", 0x00, 0xbf},
};

constexpr u64 mix(u64 x) noexcept {
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

constexpr u64 repeated(u64 element, unsigned bits) noexcept {
  for (; bits < 64; bits *= 2) element |= element << bits;
  return element;
}
}  // namespace

u64 synth_key(std::string_view name, u64 seed) noexcept {
  arch::fnv h;
  h.add(name);
  return mix(h.hash ^ mix(seed));
}

result<synth_values> synth_values::of(inventory_tensor const& t, u64 seed) {
  if (t.says[0]) {
    synth_values v;
    v.base_ = t.says[0] | t.says[1] << 32;
    return v;
  }
  for (auto const& p : patterns) {
    if (p.type != t.type || !t.name.ends_with(p.name_ends)) continue;
    synth_values v;
    v.key_ = synth_key(t.name, seed);
    v.base_ = repeated(p.base, bits_of(p.type)), v.mask_ = repeated(p.mask, bits_of(p.type));
    return v;
  }
  return error{error_kind::config, "expected a dtype that has synthetic values, found " + std::string{name_of(t.type)} +
                                       " of " + t.name + "; choose another quantisation"};
}

void synth_values::fill(u64 first, std::span<std::byte> to) const noexcept {
  u64 at = key_ + first * 0x9e3779b97f4a7c15;
  for (std::size_t i = 0; i < to.size(); i += 8, at += 0x9e3779b97f4a7c15) {
    u64 const word = base_ + (mix(at) & mask_);
    std::memcpy(to.data() + i, &word, std::min<std::size_t>(8, to.size() - i));
  }
}
