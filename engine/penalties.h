#pragma once

#include <cstdint>
#include <vector>

#include "engine/batch.h"
#include "engine/logit_row.h"

namespace sluice::engine {

struct LogitChange {
  int32_t token = 0;
  float logit = 0;  ///< as it was before
};

/// Memory kept from one row to the next.
struct PenaltyScratch {
  std::vector<int32_t> counts;       ///< [vocab_size] all zero between calls
  std::vector<LogitChange> changes;  ///< what undo_penalties takes back
};

/// Applies repetition, presence and frequency penalties, then bias, to the tokens they name and no others: the time is
/// in proportion to prompt and output, not to the vocabulary. Results stay finite. Formulas: repetition as in CTRL
/// (Keskar et al. 2019), presence and frequency as in the OpenAI API. All tokens lie in the row.
void apply_penalties(const LogitRow& logits, const SampleRow& row, PenaltyScratch& scratch);

/// Gives the row, untouched since, its own logits back. Nothing to do for a row without penalties and bias.
void undo_penalties(const LogitRow& logits, PenaltyScratch& scratch);

}  // namespace sluice::engine
