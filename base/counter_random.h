#pragma once

#include <cstdint>

namespace sluice {

/// Spreads the bits of x over 64 bits; a bijection (the finaliser of splitmix64, Steele, Lea & Flood 2014).
constexpr uint64_t mix_bits(uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9ULL;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

/// Random bits as a pure function of a seed and a counter: the same pair gives the same bits whoever asks and in
/// whatever order.
constexpr uint64_t random_bits(uint64_t seed, uint64_t counter) {
  constexpr uint64_t kGolden = 0x9e3779b97f4a7c15ULL;
  return mix_bits(mix_bits(seed + kGolden) + (counter + 1) * kGolden);
}

/// A number in [0, 1) with 53 random bits.
constexpr double random_unit(uint64_t seed, uint64_t counter) {
  return static_cast<double>(random_bits(seed, counter) >> 11) * 0x1.0p-53;
}

}  // namespace sluice
