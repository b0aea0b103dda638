#pragma once

#include <cstdint>

namespace sluice::engine::cuda {

// What the sampling kernels are told, in device memory. engine/cuda/sampling_inputs.h makes it of a batch's SampleRows.

struct LogitBatch {
  float* values = nullptr;  ///< [rows][vocab_size]
  int32_t rows = 0;
  int32_t vocab_size = 0;
};

/// Tokens a grammar allows. Bit t % 32 of word t / 32 is token t's; a row without a bit set draws token 0.
struct GrammarMasks {
  const uint32_t* words = nullptr;       // [masks][vocab_size / 32 rounded up]
  const int32_t* mask_of_row = nullptr;  // [rows] which mask; -1: all tokens are allowed. Null: in all rows
};

/// How a token is drawn, by row: SamplingParams and the chance of SampleRow.
struct DrawRows {
  const float* temperature = nullptr;          // [rows]
  const float* inverse_temperature = nullptr;  // [rows] 1 / temperature rounded to float
  const int32_t* top_k = nullptr;              // [rows] 1: the likeliest, whatever the temperature; 0: all tokens
  const float* top_p = nullptr;                // [rows]
  const float* min_p = nullptr;                // [rows]
  const double* min_p_depth = nullptr;         // [rows] how far below the top min_p cuts, in units of temperature
  const double* unit = nullptr;                // [rows] random_unit(seed, position)
  const int32_t* scored_token = nullptr;       // [rows] >= 0: not drawn
};

/// Changes to the logits before a draw, by row. A row without penalties has no history here, so that infinite logits
/// stay as they are.
struct PenaltyRows {
  const float* repetition = nullptr;  // [rows]
  const float* presence = nullptr;    // [rows]
  const float* frequency = nullptr;   // [rows]

  const int32_t* history_begin = nullptr;  // [rows + 1]
  const int32_t* history_token = nullptr;  // each distinct token of a row's prompt and output, in any order
  const int32_t* history_count = nullptr;  // how often it is in the output; 0: only in the prompt
  float* history_logit = nullptr;          // its own logit, kept until penalties are undone

  const int32_t* bias_begin = nullptr;  // [rows + 1]
  const int32_t* bias_token = nullptr;  // within a row, equal ones side by side
  const float* bias = nullptr;          // added one after the other
  float* bias_logit = nullptr;          // the logit before the first of them
};

/// Room for the candidates of one row per block of the launch: a block goes through its rows one after the other, so
/// that few blocks with much to do need little room.
struct CandidateRoom {
  int32_t* tokens = nullptr;  // [blocks][vocab_size]
  uint32_t* keys = nullptr;   // [blocks][vocab_size]
  float* weights = nullptr;   // [blocks][vocab_size]
};

constexpr int32_t kTopLogprobsRoom = 20;  ///< SamplingParams::kTopLogprobsMax

struct LogprobRows {
  const int32_t* top_logprobs = nullptr;  // [rows] how many alternatives; -1: no log-probability either, unless scored
  float* logprob = nullptr;               // [rows] of the drawn or scored token; 0 where not asked for
  int32_t* top_count = nullptr;           // [rows]
  int32_t* top_token = nullptr;           // [rows][kTopLogprobsRoom] best first
  float* top_logprob = nullptr;           // [rows][kTopLogprobsRoom]
};

}  // namespace sluice::engine::cuda
