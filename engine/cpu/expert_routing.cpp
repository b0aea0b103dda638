#include "engine/cpu/expert_routing.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"

namespace sluice::engine::cpu {

void ExpertRouting::begin(int32_t tokens, int32_t experts, int32_t per_token) {
  SLUICE_CHECK(per_token >= 1 && per_token <= experts);
  tokens_ = tokens;
  experts_ = experts;
  per_token_ = per_token;
  const auto rows = static_cast<size_t>(tokens) * static_cast<size_t>(per_token);
  choices_.resize(rows);
  rows_.resize(rows);
  tokens_by_expert_.resize(rows);
}

void ExpertRouting::choose(int32_t token, std::span<float> scores, bool sums_to_one) {
  SLUICE_CHECK(static_cast<int32_t>(scores.size()) == experts_);
  const float highest = *std::max_element(scores.begin(), scores.end());
  float total = 0;
  for (const float score : scores) total += std::exp(score - highest);
  float taken_total = 0;
  for (int32_t rank = 0; rank < per_token_; ++rank) {
    const auto best = std::max_element(scores.begin(), scores.end());
    const float weight = std::exp(*best - highest);
    choices_[place(token, rank)] = {static_cast<int32_t>(best - scores.begin()), weight};
    taken_total += weight;
    *best = -std::numeric_limits<float>::infinity();
  }
  const float share = 1.0F / (sums_to_one ? taken_total : total);
  for (int32_t rank = 0; rank < per_token_; ++rank) choices_[place(token, rank)].weight *= share;
}

void ExpertRouting::finish() {
  next_row_.assign(static_cast<size_t>(experts_), 0);
  for (const ExpertChoice& choice : choices_) ++next_row_[static_cast<size_t>(choice.expert)];
  taken_.clear();
  int32_t row = 0;
  for (int32_t expert = 0; expert < experts_; ++expert) {
    int32_t& next = next_row_[static_cast<size_t>(expert)];
    const int32_t count = next;
    next = row;
    if (count == 0) continue;
    const std::span<const int32_t> all(tokens_by_expert_);
    taken_.push_back({expert, row, all.subspan(static_cast<size_t>(row), static_cast<size_t>(count))});
    row += count;
  }
  for (int32_t token = 0; token < tokens_; ++token) {
    for (int32_t rank = 0; rank < per_token_; ++rank) {
      const size_t at = place(token, rank);
      rows_[at] = next_row_[static_cast<size_t>(choices_[at].expert)]++;
      tokens_by_expert_[static_cast<size_t>(rows_[at])] = token;
    }
  }
}

std::span<const ExpertChoice> ExpertRouting::choices(int32_t token) const {
  return std::span(choices_).subspan(place(token, 0), static_cast<size_t>(per_token_));
}

int32_t ExpertRouting::row_of(int32_t token, int32_t rank) const {
  return rows_[place(token, rank)];
}

size_t ExpertRouting::place(int32_t token, int32_t rank) const {
  return static_cast<size_t>(token) * static_cast<size_t>(per_token_) + static_cast<size_t>(rank);
}

}  // namespace sluice::engine::cpu
