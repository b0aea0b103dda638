#pragma once

#include <cstdint>
#include <vector>

namespace sluice::scheduler {

class Sequence;

/// What one sequence computes in one step: the `length` tokens from position `begin` on.
struct Slice {
  Sequence* sequence = nullptr;  ///< lent until the plan is committed or dropped
  int32_t begin = 0;
  int32_t length = 0;
  int32_t scored = 0;  ///< prompt tokens whose log-probability is reported: positions begin + 1 .. begin + scored
  bool draws = false;  ///< the token after the slice is drawn
};

/// One step: the rows that decode, then chunks of prompts. Its samples are, slice by slice, first
/// those of the scored tokens, then the drawn one.
struct StepPlan {
  std::vector<Slice> slices;
  int32_t decode_rows = 0;     ///< the first so many slices; each is one token long
  int32_t prefill_tokens = 0;  ///< in all other slices
  int32_t paused_rows = 0;     ///< sequences that would decode and are left out
  int64_t context_tokens = 0;  ///< keys that the decode rows look at, a mean over the layers
  int64_t prefill_pairs = 0;   ///< pairs of a prompt token and a key that it looks at, the same

  bool empty() const { return slices.empty(); }
  /// Empties the plan, keeps its memory.
  void clear() {
    slices.clear();
    decode_rows = paused_rows = prefill_tokens = 0;
    context_tokens = prefill_pairs = 0;
  }
};

}  // namespace sluice::scheduler
