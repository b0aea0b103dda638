#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/cpu/cpu_isa.h"

// The seam between the CPU backend and its instruction sets. Files compiled for one instruction set include only this
// and kernels_generic.h, and call no inline function of anybody else's: the linker keeps one copy of such a function,
// and were it theirs, other code would run instructions the machine may lack.

namespace sluice::engine::cpu {

inline constexpr int32_t kPanelRows = 16;   ///< weight rows computed together
inline constexpr int32_t kQuantBlock = 32;  ///< elements that share a scale
inline constexpr int32_t kKeyChunk = 32;    ///< keys between two updates of the running softmax
inline constexpr int32_t kQueryTokens = 8;  ///< tokens of one AttendTask at most

// Bytes of one block of a packed panel (packed_matrix.h says what they hold).
inline constexpr int64_t kQ4_0BlockBytes = 256 + 32;
inline constexpr int64_t kQ4_1BlockBytes = 256 + 64;
inline constexpr int64_t kQ8_0BlockBytes = 512 + 32;

/// Activations of consecutive tokens, in the forms that are wanted: floats, and blocks of 32 with x = scale * value,
/// |value| <= 127.
struct Columns {
  int32_t length;          // a multiple of 32 where there are blocks
  const float* floats;     // [tokens, length]
  const int8_t* values;    // [tokens, length]
  const float* scales;     // [tokens, blocks]
  const float* sums;       // [tokens, blocks] scale * sum of the block's values
  const int32_t* offsets;  // [tokens, blocks] -128 * sum of the block's values
};

/// What a product looks at in its Columns.
enum class Activations { kFloat, kInt8 };

/// Causal attention of one group of query heads over one key/value head, for up to kQueryTokens consecutive tokens of
/// one row.
struct AttendTask {
  const uint16_t*
      cache;  ///< block 0 of this layer and head: keys [head_dim, block_size], then values [block_size, head_dim]
  int64_t block_stride;  ///< elements from one block to the next
  const int32_t* block_ids;
  int32_t block_size;
  int32_t head_dim;
  int32_t group;  ///< query heads
  int32_t token_count;
  int32_t first_position;  ///< of the first token; a token at position p sees positions 0 to p
  float scale;
  const float* queries;  // [token_count, query_stride] of which [group, head_dim] are ours
  int64_t query_stride;
  float* out;  // [token_count, out_stride] of which [group, head_dim] are ours
  int64_t out_stride;
  float* scratch;  // [attend_scratch_floats(group, head_dim)]
};
int64_t attend_scratch_floats(int32_t group, int32_t head_dim);

/// Dot products of a panel's 16 rows with `count` columns: out[c * 16 + row]. Each is summed in one order whatever
/// `count` is.
using Dot = void (*)(const std::byte* panel, const Columns& columns, int32_t count, float* out);

/// One instruction set's kernels.
struct Kernels {
  Activations quantized_weights_take;  ///< products with float weights take floats
  Dot dot_q4_0;
  Dot dot_q4_1;
  Dot dot_q8_0;
  Dot dot_f32;
  Dot dot_f16;
  Dot dot_bf16;
  /// One token of blocks from `length` floats, a multiple of 32.
  void (*quantize)(const float* x, int32_t length, int8_t* values, float* scales, float* sums, int32_t* offsets);
  /// out = x / sqrt(mean(x^2) + epsilon) * weight (Zhang & Sennrich 2019); out may be x.
  void (*rms_norm)(const float* x, const float* weight, int32_t length, float epsilon, float* out);
  /// gate = gate / (1 + exp(-gate)) * up; count is a multiple of 16.
  void (*silu_multiply)(float* gate, const float* up, int32_t count);
  void (*store_f16)(const float* x, int32_t count, uint16_t* out);
  void (*store_bf16)(const float* x, int32_t count, uint16_t* out);
  void (*attend_f16)(const AttendTask& task);
  void (*attend_bf16)(const AttendTask& task);
};

const Kernels& portable_kernels();
const Kernels& avx2_kernels();
const Kernels& avx512_kernels();
/// The machine must have the instruction set.
const Kernels& kernels_for(CpuIsa isa);

}  // namespace sluice::engine::cpu
