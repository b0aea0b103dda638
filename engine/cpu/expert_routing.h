#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace sluice::engine::cpu {

/// An expert that a token takes.
struct ExpertChoice {
  int32_t expert = 0;
  float weight = 0;
};

/// The tokens of one expert, ascending.
struct ExpertTokens {
  int32_t expert = 0;
  int32_t first_row = 0;            ///< rows are counted through all experts; the expert's are one after the other
  std::span<const int32_t> tokens;  // of rows first_row and up
};

/// Which experts the tokens of a step take. What a token gets depends on its own scores alone. Keeps its memory.
class ExpertRouting {
 public:
  void begin(int32_t tokens, int32_t experts, int32_t per_token);
  /// `scores` [experts] of one token, overwritten. Takes the per_token highest, of equal ones the first; weights are
  /// shares of the softmax of all scores, or with sums_to_one of those taken. Tokens may be set by different threads.
  void choose(int32_t token, std::span<float> scores, bool sums_to_one);
  /// Sorts the tokens by expert, once all have chosen.
  void finish();

  /// By descending score.
  std::span<const ExpertChoice> choices(int32_t token) const;
  /// The row of a token's choice number `rank`.
  int32_t row_of(int32_t token, int32_t rank) const;
  /// Experts that somebody takes, ascending.
  std::span<const ExpertTokens> taken() const { return taken_; }

 private:
  size_t place(int32_t token, int32_t rank) const;

  int32_t tokens_ = 0;
  int32_t experts_ = 0;
  int32_t per_token_ = 0;
  std::vector<ExpertChoice> choices_;      // [tokens, per_token]
  std::vector<int32_t> rows_;              // [tokens, per_token]
  std::vector<int32_t> tokens_by_expert_;  // [tokens * per_token]
  std::vector<int32_t> next_row_;          // [experts]
  std::vector<ExpertTokens> taken_;
};

}  // namespace sluice::engine::cpu
