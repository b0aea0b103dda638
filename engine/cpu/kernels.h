#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/cpu/cpu_isa.h"
#include "engine/cpu/packed_layout.h"
#include "engine/logit_kernels.h"
#include "engine/quant_scheme.h"
#include "engine/tensor_type.h"

// The seam between the CPU backend and its instruction sets. Files compiled for one instruction set include only this
// and the kernels' own headers, and call no inline function of anybody else's: the linker keeps one copy of such a
// function, and were it theirs, other code would run instructions the machine may lack.

namespace sluice::engine::cpu {

inline constexpr int32_t kKeySpan = 128;     ///< positions whose attention is one partial result
inline constexpr int32_t kKeyLanes = 16;     ///< keys of a block that lie side by side, where its size allows
inline constexpr int32_t kQueryTokens = 32;  ///< tokens of one AttendTask at most
inline constexpr int32_t kPromptHeadStep = 32;
inline constexpr int32_t kNoWindow = 0x7fffffff;  ///< AttendTask::window of layers that see the whole context

/// How far products look ahead in their weights, into the next panel at the end: the hardware's prefetcher stops at
/// every page.
inline constexpr int64_t kPrefetchBytes = 4096;
/// Columns whose parts of one block lie side by side.
inline constexpr int32_t kColumnLanes = 16;
/// Columns that a product may read past its last.
inline constexpr int32_t kColumnsPadding = 15;

/// Activations of consecutive tokens, in the forms that are wanted: floats, and blocks of 32 with x = scale * value,
/// |value| <= 127.
struct Columns {
  int32_t length;          // a multiple of 32 where there are blocks
  const float* floats;     // [tokens, length]
  const uint16_t* halves;  // [tokens / 16][blocks][16][32] bfloat16
  const uint16_t* rests;   // the same: what halves leave of x, where weights want it; otherwise null
  const int8_t* values;    // [tokens / 16][blocks][16][32]
  const float* scales;     // [tokens / 16][blocks][16]
  const float* sums;       // the same: scale * sum of the block's values
  const float* half_sums;  // [tokens / 16][blocks][16][2]: of either half of the block, where weights want them
  const int32_t* offsets;  // [tokens / 16][blocks][16]: -128 * sum of the block's values
};

/// Where one token's blocks are quantised to: as in Columns, kColumnLanes blocks apart.
struct QuantizedColumn {
  int8_t* values;
  float* scales;
  float* sums;
  float* half_sums;  ///< null: not wanted
  int32_t* offsets;
};

/// What a product looks at in its Columns.
enum class Activations { kFloat, kInt8, kBf16 };

/// Causal attention of one group of query heads over one key/value head, for up to kQueryTokens consecutive tokens of
/// one row.
struct AttendTask {
  const std::byte* cache;  ///< block 0 of this layer and head, as KvStore lays it out
  int64_t block_bytes;     ///< from one block to the next
  const int32_t* block_ids;
  int32_t block_size;
  int32_t head_dim;
  int32_t group;  ///< query heads
  int32_t token_count;
  int32_t first_position;  ///< of the first token
  /// A token at position p sees positions p - window + 1 to p. Blocks of earlier positions may hold anything finite.
  int32_t window = kNoWindow;
  float scale;
  const float* queries;  // [token_count, query_stride] of which [group, head_dim] are ours
  int64_t query_stride;
  float* out;  // [token_count, out_stride] of which [group, head_dim] are ours
  int64_t out_stride;
  float* scratch;  // [attend_scratch_floats(group, head_dim)]
};

/// head_dim rounded up to whole registers of any instruction set.
[[gnu::always_inline]] inline constexpr int32_t padded_head_dim(int32_t head_dim) {
  return (head_dim + 15) / 16 * 16;
}
/// Floats of one span's partial result of `queries` queries.
[[gnu::always_inline]] inline constexpr int64_t attend_partial_floats(int32_t queries, int32_t head_dim) {
  return int64_t{queries} * (padded_head_dim(head_dim) + 2);
}
/// The first span that a token at `position` sees anything of.
[[gnu::always_inline]] inline constexpr int32_t first_span_of(int32_t position, int32_t window) {
  return position < window ? 0 : (position - window + 1) / kKeySpan;
}
/// The spans of a task: from the first one that its first token sees to the one of its last token.
[[gnu::always_inline]] inline constexpr int32_t attend_first_span(const AttendTask& task) {
  return first_span_of(task.first_position, task.window);
}
[[gnu::always_inline]] inline constexpr int32_t attend_end_span(const AttendTask& task) {
  return (task.first_position + task.token_count + kKeySpan - 1) / kKeySpan;
}
int64_t attend_scratch_floats(int32_t group, int32_t head_dim);

/// Attention over a cache of one element type.
struct AttentionKernels {
  void (*attend)(const AttendTask& task);
  /// One of its spans, counted from the context's beginning, to partial [attend_partial_floats].
  void (*attend_span)(const AttendTask& task, int32_t span, float* partial);
  /// The whole of it for tokens of a prompt, head_dim being a multiple of kPromptHeadStep; may be attend itself.
  void (*attend_prompt)(const AttendTask& task);
};

/// Where Columns holds the scale of a column's block; its 32 elements begin at 32 times that.
[[gnu::always_inline]] inline constexpr int64_t column_place(int32_t column, int32_t block, int32_t block_count) {
  return (int64_t{column / kColumnLanes} * block_count + block) * kColumnLanes + column % kColumnLanes;
}

/// Dot products of a panel's 16 rows with `count` columns: out[c * 16 + row]. Each is summed in one order whatever
/// `count` is.
using Dot = void (*)(const std::byte* panel, const Columns& columns, int32_t count, float* out);

/// For an instruction set that needs no preparation.
void need_nothing();

/// An instruction set's products with quantised weights, and the activations they take.
struct QuantizedProducts {
  Activations take = Activations::kInt8;
  PerType<Dot> dot;
  /// A thread calls begin before its first product and end after its last; what lies between is kept short.
  void (*begin)() = need_nothing;
  void (*end)() = need_nothing;
};

/// Some columns' products with two panels.
struct PairProduct {
  const uint16_t* columns;          // [tiles of 16] of [blocks][16][32] bfloat16
  const uint16_t* rests = nullptr;  // like the columns, and multiplied as they are; null: none
  int64_t tile_stride;              // halves from one tile to the next
  int32_t tiles;                    // 1 or 2
  int32_t blocks;
  const uint16_t* first;  // a panel as Unpack leaves it
  const uint16_t* second;
  float* first_out;  // [16 * tiles][16 rows]
  float* second_out;
};

/// `blocks` blocks of a panel as bfloat16 [blocks][16 pairs of elements][16 rows][2].
using Unpack = void (*)(const std::byte* panel, int32_t blocks, uint16_t* weights);

/// Products of many columns in bfloat16, for instruction sets with matrix tiles: weights are unpacked once for all of
/// them. Weights of bfloat16 are exact in them, so their columns come in two bfloat16 parts, which are off by 2^-16 at
/// most.
struct PromptProducts {
  PerType<Unpack> unpack;
  /// Each element is summed in one order, whatever else is in its tile.
  void (*multiply)(const PairProduct& task) = nullptr;
  void (*begin)() = need_nothing;  ///< as in QuantizedProducts
  void (*end)() = need_nothing;

  constexpr bool exist() const { return multiply != nullptr; }
};

/// One instruction set's kernels.
struct Kernels {
  /// For drawn tokens, few columns at a time. Their products with float weights take floats.
  QuantizedProducts decode;
  /// For the tokens of prompts; where there are none, decode's serve those too.
  PromptProducts prompt;
  PerType<Dot> dot_float;
  /// One token of blocks from `length` floats, a multiple of 32.
  void (*quantize)(const float* x, int32_t length, const QuantizedColumn& to);
  /// The same in bfloat16, and what that leaves of x, unless `rests` is null.
  void (*to_halves)(const float* x, int32_t length, uint16_t* halves, uint16_t* rests);
  /// to[c * stride .. + 15] = products[c * 16 .. + 15] + added[0 .. 15]; `added` may be null.
  void (*put_panel)(const float* products, int32_t count, const float* added, float* to, int64_t stride);
  /// to[c * stride .. + 15] += products[c * 16 .. + 15]
  void (*add_panel)(const float* products, int32_t count, float* to, int64_t stride);
  /// out = x / sqrt(mean(x^2) + epsilon) * weight (Zhang & Sennrich 2019); out may be x.
  void (*rms_norm)(const float* x, const float* weight, int32_t length, float epsilon, float* out);
  /// Turns pairs (2i, 2i+1) of head[dim], or with rotate_halves pairs (i, i + dim/2): head[j] * cosines[j] +
  /// partner * sines[j], the sign of the turn being in the sines.
  void (*rotate_pairs)(float* head, const float* cosines, const float* sines, int32_t dim);
  void (*rotate_halves)(float* head, const float* cosines, const float* sines, int32_t dim);
  /// gate = silu(gate) * up with silu(x) = x / (1 + exp(-x)); count is a multiple of 16.
  void (*silu_multiply)(float* gate, const float* up, int32_t count);
  /// gate = gelu(gate) * up with gelu(x) = x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))) (Hendrycks & Gimpel
  /// 2016); count is a multiple of 16.
  void (*gelu_multiply)(float* gate, const float* up, int32_t count);
  /// tops[c] = the largest of products[c * 16 .. c * 16 + 15], NaNs passed over; -infinity if there is nothing else.
  void (*panel_tops)(const float* products, int32_t count, float* tops);
  LogitKernels logits;
  void (*store_f16)(const float* x, int32_t count, uint16_t* out);
  void (*store_bf16)(const float* x, int32_t count, uint16_t* out);
  /// x = scale * out with |out| <= 127; returns the scale.
  float (*store_int8)(const float* x, int32_t count, int8_t* out);
  AttentionKernels f32;
  AttentionKernels f16;
  AttentionKernels bf16;
  AttentionKernels int8;
  /// The same result as attend, from the partial results of all spans of the task, one after the other.
  void (*merge_spans)(const AttendTask& task, const float* partials);
};

const Kernels& portable_kernels();
const Kernels& avx2_kernels();
const Kernels& avx512_kernels();
const Kernels& amx_kernels();
/// The machine must have the instruction set.
const Kernels& kernels_for(CpuIsa isa);

}  // namespace sluice::engine::cpu
