#pragma once
#include <cstddef>
#include <span>
#include <string_view>

#include <penstock/core/result.hpp>
#include <penstock/plan/inventory.hpp>

/// The bytes of a synthetic tensor. They follow from seed, name and dtype alone: not from shape, shard or machine.
///
/// Bytes 8 i to 8 i + 7 are, as a little-endian number, base + (mix(key + i * 0x9e3779b97f4a7c15) & mask). Every sum and
/// product is modulo 2^64, and
///
///   key     mix(fnv(name) ^ mix(seed))
///   fnv     h = 0xcbf29ce484222325; for each byte of the name: h = (h ^ byte) * 0x100000001b3
///   mix(x)  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9; x = (x ^ x >> 27) * 0x94d049bb133111eb; x ^ x >> 31
///
/// base and mask are repeated to 64 bits from those of one element, by dtype:
///
///                              base        mask        values
///   BF16                       3c00        81ff        from 2^-7 to 2^-3, of both signs
///   F16                        2000        8fff        likewise
///   F32                        3c000000    81ffffff    likewise
///   F8_E4M3                    00          bf          below 2, of both signs: no NaN, and a zero now and then
///   F32 ...weight_scale_inv    3b800000    01ffffff    from 2^-8 to 2^-4
///   F32 ...weight_scale        3b800000    01ffffff    likewise
///   BF16 ...weight_scale       3b80        01ff        likewise
///   F16 ...weight_scale        1c00        0fff        likewise
///   U8 ..._scales              78          03          E8M0, from 2^-7 to 2^-4
///   U8 ..._blocks              00          ff          all
///   I32 ...weight_packed       00000000    ffffffff    all
///   BF16 ...norm.weight        3f60        003f        from 0.875 to 1.25
///   F16 ...norm.weight         3b00        01ff        likewise
///   F32 ...norm.weight         3f600000    003fffff    likewise
///
/// `weight_shape`, I32, is what the module's name promises: its N and K.
///
/// @source FNV-1a (Fowler, Noll and Vo); the mixer of SplitMix64 (Steele, Lea and Flood 2014). The mixer is one to one,
///         so no two words of a tensor are equal before the mask.
class synth_values {
 public:
  /// @errors config: of this dtype there are no values
  static penstock::result<synth_values> of(penstock::inventory_tensor const& t, penstock::u64 seed);
  /// Fills `to` with what follows word number `first`.
  void fill(penstock::u64 first, std::span<std::byte> to) const noexcept;

 private:
  penstock::u64 key_ = 0, base_ = 0, mask_ = 0;
};

/// A number that follows from name and seed: see `key` above.
penstock::u64 synth_key(std::string_view name, penstock::u64 seed) noexcept;
