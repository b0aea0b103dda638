#pragma once

#include <cstdint>

/// Stored numbers from and to float, bit for bit as a device converts them: to the nearest, ties to even, and one NaN
/// for all.
namespace sluice::gpu::simt {

float bf16_to_float(uint16_t bits);
float half_to_float(uint16_t bits);
float fp8_to_float(uint8_t bits);
uint16_t float_to_bf16(float value);
uint16_t float_to_half(float value);
/// What is beyond 448, infinities too, becomes 448.
uint8_t float_to_fp8(float value);

}  // namespace sluice::gpu::simt
