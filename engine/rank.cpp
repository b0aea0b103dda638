#include "engine/rank.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "base/check.h"

namespace sluice::engine {
namespace {

// A family with experts has no other feed-forward network, whatever its files say of the width of one.
int32_t shared_ffn_width(const ModelConfig& model) {
  return model.experts.count > 0 ? model.experts.ffn_width : model.ffn_width;
}

/// "1, 2 or 4"
std::string any_of(const std::vector<int32_t>& numbers) {
  std::string text;
  for (const int32_t number : numbers) {
    if (!text.empty()) text += number == numbers.back() ? " or " : ", ";
    text += std::to_string(number);
  }
  return text;
}

std::string counts_that_work(int32_t divisor) {
  std::vector<int32_t> counts;
  for (int32_t count = 1; count <= std::min(divisor, kRanksMax); ++count) {
    if (divisor % count == 0) counts.push_back(count);
  }
  return counts.size() == 1 ? "only 1 divides them all" : any_of(counts) + " divide them all";
}

}  // namespace

Status check_rank_count(const ModelConfig& model, int32_t rank_count) {
  SLUICE_CHECK(rank_count >= 1 && rank_count <= kRanksMax);
  const int32_t ffn_width = shared_ffn_width(model);
  const int32_t divisor = std::gcd(std::gcd(model.head_count, model.kv_head_count), ffn_width);
  if (divisor % rank_count == 0) return Status();
  return invalid_field("engine.tensor_parallel",
                       "is " + std::to_string(rank_count) + ", but the model has " + std::to_string(model.head_count) +
                           " heads, " + std::to_string(model.kv_head_count) + " KV heads and a feed-forward width of " +
                           std::to_string(ffn_width) + "; " + counts_that_work(divisor));
}

ModelConfig rank_config(const ModelConfig& model, const Rank& rank) {
  SLUICE_CHECK(rank.index >= 0 && rank.index < rank.count && check_rank_count(model, rank.count).ok());
  ModelConfig part = model;
  part.head_count /= rank.count;
  part.kv_head_count /= rank.count;
  part.ffn_width /= rank.count;
  part.experts.ffn_width /= rank.count;
  return part;
}

}  // namespace sluice::engine
