#pragma once

#include <memory>

#include "engine/cuda/device.h"
#include "engine/cuda/device_attention.h"

// One per pair of the queries' type and the cache's, each in a file of its own: kernels of all head sizes take long to
// compile.

namespace sluice::engine::cuda {

std::unique_ptr<PagedAttention> make_float_attention(Device& device);
std::unique_ptr<PagedAttention> make_bf16_attention(Device& device);
/// Queries of bf16 over a cache of half.
std::unique_ptr<PagedAttention> make_half_attention(Device& device);
/// Queries of bf16 over a cache of e4m3 with scales.
std::unique_ptr<PagedAttention> make_fp8_attention(Device& device);

}  // namespace sluice::engine::cuda
