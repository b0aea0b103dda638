#include "bench/prompt_source.h"

#include <algorithm>
#include <utility>

#include "base/counter_random.h"

namespace sluice::bench {
namespace {

/// Independent streams of random numbers from one seed.
enum class Draw : uint64_t { kLength, kShift, kTokens, kPrefix };

uint64_t stream_seed(uint64_t seed, Draw draw) {
  return random_bits(seed, static_cast<uint64_t>(draw));
}

}  // namespace

PromptSource::PromptSource(std::vector<int32_t> ids, TokenRange length, uint64_t seed)
    : ids_(std::move(ids)), length_(length), seed_(seed) {}

Result<PromptSource> PromptSource::create(int32_t vocab_size, const std::vector<int32_t>& excluded, TokenRange length,
                                          uint64_t seed) {
  std::vector<int32_t> ids;
  for (int32_t id = 0; id < vocab_size; ++id) {
    if (std::find(excluded.begin(), excluded.end(), id) == excluded.end()) ids.push_back(id);
  }
  if (ids.empty()) return failed_precondition("the served vocabulary has no token to make prompts of");
  return PromptSource(std::move(ids), length, seed);
}

void PromptSource::share_prefix(int32_t tokens) {
  prefix_.clear();
  const uint64_t prefix_seed = stream_seed(seed_, Draw::kPrefix);
  for (int32_t i = 0; i < tokens; ++i) {
    prefix_.push_back(ids_[random_bits(prefix_seed, static_cast<uint64_t>(i)) % ids_.size()]);
  }
}

std::vector<int32_t> PromptSource::prompt(uint64_t index) const {
  const auto choices = static_cast<uint64_t>(length_.max - length_.min) + 1;
  const uint64_t size =
      static_cast<uint64_t>(length_.min) + random_bits(stream_seed(seed_, Draw::kLength), index) % choices;
  const uint64_t tokens_seed = random_bits(stream_seed(seed_, Draw::kTokens), index);
  std::vector<int32_t> prompt = prefix_;
  prompt.push_back(ids_[(stream_seed(seed_, Draw::kShift) % ids_.size() + index) % ids_.size()]);
  for (uint64_t i = 1; i < size; ++i) prompt.push_back(ids_[random_bits(tokens_seed, i) % ids_.size()]);
  return prompt;
}

}  // namespace sluice::bench
