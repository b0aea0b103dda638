#pragma once

#include <cstdint>
#include <vector>

namespace sluice::scheduler {

class Sequence;

/// What one sequence computes in one step: the `length` tokens from position `begin` on.
struct Slice {
  /// Lent until the plan is committed or dropped. Null once the sequence has ended: what the step draws for it is
  /// dropped.
  Sequence* sequence = nullptr;
  int32_t begin = 0;
  int32_t length = 0;
  int32_t scored = 0;  ///< prompt tokens whose log-probability is reported: positions begin + 1 .. begin + scored
  bool draws = false;  ///< the token after the slice is drawn
  /// Of a row that decodes: which sample of the step before is its token; -1 where the token is known.
  int32_t drawn_before = -1;

  int32_t samples() const { return scored + (draws ? 1 : 0); }
};

/// One step: the rows that decode, then chunks of prompts. Its samples are, slice by slice, first
/// those of the scored tokens, then the drawn one.
struct StepPlan {
  std::vector<Slice> slices;
  std::vector<Sequence*> paused;  ///< who would decode and is left out; lent as in slices, and gone once it has ended
  int32_t decode_rows = 0;        ///< the first so many slices; each is one token long
  int32_t prefill_tokens = 0;     ///< in all other slices
  int32_t paused_rows = 0;        ///< how many sequences were left out
  int32_t samples = 0;            ///< of all slices
  bool is_ahead = false;          ///< made while another step was under way
  int64_t context_tokens = 0;     ///< keys that the decode rows look at, a mean over the layers
  int64_t prefill_pairs = 0;      ///< pairs of a prompt token and a key that it looks at, the same

  bool empty() const { return slices.empty(); }
  /// Empties the plan, keeps its memory.
  void clear() {
    slices.clear();
    paused.clear();
    decode_rows = paused_rows = prefill_tokens = samples = 0;
    is_ahead = false;
    context_tokens = prefill_pairs = 0;
  }
};

}  // namespace sluice::scheduler
