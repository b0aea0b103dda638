#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"

namespace sluice::engine {

struct LogitBias {
  int32_t token = 0;
  float bias = 0;  ///< added to the logit, -100 to 100
};

/// How the next token of a sequence is drawn from its logits.
///
/// Order: repetition, presence and frequency penalties, logit bias, then temperature, top-k, top-p, min-p.
/// Log-probabilities are always those of the model itself, before all of these.
struct SamplingParams {
  float temperature = 1.0F;  ///< >= 0; below kGreedyTemperature: take the likeliest token, the lowest id among equals
  int32_t top_k = 0;         ///< keep the k likeliest tokens; 0: all
  float top_p = 1.0F;        ///< in (0, 1]; keep the smallest set of likeliest tokens with this much probability
  float min_p = 0.0F;        ///< in [0, 1]; drop tokens less likely than this share of the likeliest
  float repetition_penalty = 1.0F;  ///< > 0; logits of tokens in prompt or output: divided if positive, else multiplied
  float presence_penalty = 0.0F;    ///< -2 to 2; subtracted once for each token in the output
  float frequency_penalty = 0.0F;   ///< -2 to 2; subtracted per occurrence in the output
  std::vector<LogitBias> logit_bias = {};
  /// Alternatives to report with each token's log-probability; -1: report no log-probabilities at all.
  int32_t top_logprobs = -1;

  static constexpr int32_t kTopLogprobsMax = 20;
  /// Below it a lead of 0.001 in logits is already beyond 1 : e^100, so nothing is left to draw.
  static constexpr float kGreedyTemperature = 1e-5F;
  static constexpr float kPenaltyMax = 2.0F;
  static constexpr float kLogitBiasMax = 100.0F;

  /// Whether what is drawn depends on the tokens of prompt and output, beside what the model makes of them.
  bool has_penalties() const {
    return repetition_penalty != 1.0F || presence_penalty != 0.0F || frequency_penalty != 0.0F;
  }

  /// Checks every value; the error's field is the option's name on the wire: the member's name, but "logprobs" for
  /// top_logprobs. `vocab_size` bounds the biased tokens. Whoever samples relies on it.
  Status validate(int32_t vocab_size) const;
};

struct TokenLogprob {
  int32_t token = 0;
  float logprob = 0;
};

/// One drawn (or scored) token.
struct SampledToken {
  int32_t token = 0;
  float logprob = 0;  ///< of the model itself; 0 when not asked for
  std::vector<TokenLogprob> top =
      {};  ///< the likeliest tokens, best first, whether drawn or not; empty when not asked for
};

}  // namespace sluice::engine
