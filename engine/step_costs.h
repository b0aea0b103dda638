#pragma once

#include <cstdint>

namespace sluice::engine {

/// What a step of a model can't do without, whatever computes it: the bytes that it reads and the multiply-accumulates
/// that it makes.
struct StepCosts {
  int64_t layer_bytes = 0;          ///< weights of all layers, once a step
  int64_t head_bytes = 0;           ///< weights of the head, once in a step that draws or scores
  int64_t context_token_bytes = 0;  ///< keys and values of one token of a context
  int64_t token_macs = 0;           ///< products of all layers, a token
  int64_t sample_macs = 0;          ///< products of the head, a drawn or scored token
  int64_t pair_macs = 0;            ///< attention, a pair of a token and a key that it looks at

  /// Weights, and the contexts of the rows that decode. What prompts read again of their own keys isn't counted.
  int64_t bytes(int64_t decode_context_tokens, int64_t samples) const {
    return layer_bytes + (samples > 0 ? head_bytes : 0) + context_token_bytes * decode_context_tokens;
  }
  int64_t macs(int64_t tokens, int64_t samples, int64_t pairs) const {
    return token_macs * tokens + sample_macs * samples + pair_macs * pairs;
  }
};

}  // namespace sluice::engine
