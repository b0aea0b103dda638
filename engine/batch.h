#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/sampling.h"

namespace sluice::engine {

/// One place of a batch whose logits are wanted.
struct SampleRow {
  int32_t token_index = 0;  ///< into Batch::token_ids: the token whose successor is drawn or scored
  /// >= 0: nothing is drawn; the log-probability of this token is reported (prompt scoring).
  int32_t scored_token = -1;
  const SamplingParams* params = nullptr;  ///< lent for the step; never null
  std::span<const int32_t> prompt;         ///< lent for the step; what the penalties look at
  /// Lent for the step; tokens generated so far. The last of them, which drawn_before stands for, is missing.
  std::span<const int32_t> output;
  uint64_t seed = 0;      ///< the draw is f(seed, position), never of the batch
  uint64_t position = 0;  ///< of the drawn token in its sequence
};

/// One forward pass over a ragged batch: each row is the next slice of one sequence. A prefill chunk and a decode row
/// differ only in length. Built on the loop thread from a StepPlan, read by an Executor.
struct Batch {
  std::vector<int32_t> token_ids;  // [tokens]
  std::vector<int32_t> positions;  // [tokens] place in the sequence, from 0
  /// Where a token's keys and values are written, of each group of layers (LayerGroups): block * block_size + offset.
  std::vector<int32_t> slots;            // [groups][tokens]
  std::vector<int32_t> row_begin;        // [rows + 1] into the arrays above
  std::vector<int32_t> context_lengths;  // [rows] tokens of the sequence in the cache after this step
  std::vector<int32_t> table_begin;      // [rows + 1] into one group's block_ids
  /// Block tables of all rows, one after the other, of each group. Entry b of a row's table is the block that holds
  /// tokens b * block_size and up of its context. Before the first token that the row's tokens see in the group, any
  /// block's id will do.
  std::vector<int32_t> block_ids;  // [groups][table_begin.back()]
  std::vector<SampleRow> samples;  // [samples] in any order; a row that decodes has one at most

  /// The first so many rows continue their sequences by one drawn token each; all other tokens are of prompts. A
  /// backend may compute the two kinds in different precision, so that what a token gets depends on its kind, never on
  /// the batch.
  int32_t decode_rows = 0;
  /// [decode_rows], or empty: which sample of the step launched just before gives this row's token, whose entry in
  /// token_ids is 0 then; -1 where token_ids says it. A row with one has no penalties (SamplingParams::has_penalties).
  std::vector<int32_t> drawn_before;

  int32_t token_count() const { return static_cast<int32_t>(token_ids.size()); }
  int32_t row_count() const { return static_cast<int32_t>(context_lengths.size()); }

  /// Empties the batch, keeps its memory.
  void clear() {
    token_ids.clear();
    positions.clear();
    slots.clear();
    row_begin.clear();
    context_lengths.clear();
    table_begin.clear();
    block_ids.clear();
    samples.clear();
    decode_rows = 0;
    drawn_before.clear();
  }
};

struct StepOutput {
  std::vector<SampledToken> samples;  // [samples] in the order of Batch::samples
};

}  // namespace sluice::engine
