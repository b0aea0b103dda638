#pragma once

#include <cstdint>

#include "engine/logit_row.h"

namespace sluice::engine {

inline constexpr int32_t kLogitChunk = 256;  ///< logits weighed in one call

/// A logit's weight is e^((logit - max) / temperature): its probability is its weight over the sum of all weights.
struct LogitScale {
  float max = 0;          ///< the largest logit, so that its weight is 1
  float temperature = 1;  ///< > 0, at most the largest float; 1 / temperature is finite
};

/// The two loops of sampling that look at many logits. Whoever has better instructions brings its own; a set of kernels
/// is one function of its arguments, whatever is around them. Nothing is aligned.
struct LogitKernels {
  /// weights[i] = e^x of x = (logits[i] - max) * (1 / temperature), each operation rounded to float: within 3e-7 of the
  /// true e^x relative to it, exactly 1 at 0, and 0 for x < -87 and NaN. Returns their sum, within 2e-6 relative to it.
  /// 0 <= count <= kLogitChunk; the arrays don't overlap.
  double (*weigh)(const float* logits, int32_t count, LogitScale scale, float* weights);

  /// Writes the tokens whose logit is at least `floor`, by id, and their logits; returns how many. `floor` is above
  /// -infinity; NaN is left out. Both arrays have room for the whole vocabulary rounded up to a block, and any of it
  /// may be written.
  int32_t (*collect)(const Logits& logits, float floor, int32_t* tokens, float* values);
};

/// `collect` of plain instructions, which better ones hardly beat.
int32_t collect_logits(const Logits& logits, float floor, int32_t* tokens, float* values);

/// Plain multiplications and additions in a fixed order: the same bits on every machine.
const LogitKernels& portable_logit_kernels();

}  // namespace sluice::engine
