#include "engine/sampling.h"

#include <cmath>
#include <string>

namespace sluice::engine {
namespace {

// Written as "not inside", so that NaN is refused too.
bool is_within(float value, float low, float high) {
  return value >= low && value <= high;
}

Status validate_bias(const std::vector<LogitBias>& biases, int32_t vocab_size) {
  for (const LogitBias& bias : biases) {
    const std::string token = "token " + std::to_string(bias.token);
    if (bias.token < 0 || bias.token >= vocab_size) {
      return invalid_field("logit_bias",
                           "names " + token + ", but tokens go from 0 to " + std::to_string(vocab_size - 1));
    }
    if (!is_within(bias.bias, -SamplingParams::kLogitBiasMax, SamplingParams::kLogitBiasMax)) {
      return invalid_field("logit_bias", "of " + token + " must be from -100 to 100");
    }
  }
  return Status();
}

Status validate_penalties(const SamplingParams& params) {
  constexpr float kMax = SamplingParams::kPenaltyMax;
  if (!std::isfinite(params.repetition_penalty) || params.repetition_penalty <= 0.0F) {
    return invalid_field("repetition_penalty", "must be a finite number above 0");
  }
  if (!is_within(params.presence_penalty, -kMax, kMax))
    return invalid_field("presence_penalty", "must be from -2 to 2");
  if (!is_within(params.frequency_penalty, -kMax, kMax))
    return invalid_field("frequency_penalty", "must be from -2 to 2");
  return Status();
}

}  // namespace

Status SamplingParams::validate(int32_t vocab_size) const {
  if (!std::isfinite(temperature) || temperature < 0.0F)
    return invalid_field("temperature", "must be a finite number from 0");
  if (top_k < 0) return invalid_field("top_k", "must not be negative; 0 keeps all tokens");
  if (!(top_p > 0.0F && top_p <= 1.0F)) return invalid_field("top_p", "must be above 0 and at most 1");
  if (!is_within(min_p, 0.0F, 1.0F)) return invalid_field("min_p", "must be from 0 to 1");
  SLUICE_RETURN_IF_ERROR(validate_penalties(*this));
  SLUICE_RETURN_IF_ERROR(validate_bias(logit_bias, vocab_size));
  if (top_logprobs < -1 || top_logprobs > kTopLogprobsMax) {
    return invalid_field("logprobs", "must be from 0 to " + std::to_string(kTopLogprobsMax));
  }
  return Status();
}

}  // namespace sluice::engine
