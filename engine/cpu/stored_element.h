#pragma once

#include <cstdint>

// Element types as they lie in memory, loaded as floats into a vector V.

namespace sluice::engine::cpu {

template <typename V>
struct F32 {
  static constexpr bool kHasScales = false;
  using Stored = float;
  static typename V::Float load(const float* from) { return V::load(from); }
};
template <typename V>
struct F16 {
  static constexpr bool kHasScales = false;
  using Stored = uint16_t;
  static typename V::Float load(const uint16_t* from) { return V::load_f16(from); }
};
template <typename V>
struct Bf16 {
  static constexpr bool kHasScales = false;
  using Stored = uint16_t;
  static typename V::Float load(const uint16_t* from) { return V::load_bf16(from); }
};
/// Times a scale that is kept elsewhere.
template <typename V>
struct Int8 {
  static constexpr bool kHasScales = true;
  using Stored = int8_t;
  static typename V::Float load(const int8_t* from) { return V::load_int8(from); }
};

}  // namespace sluice::engine::cpu
