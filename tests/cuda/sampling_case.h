#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <vector>

#include "engine/batch.h"
#include "engine/cuda/kernels/logit_key.cuh"
#include "engine/penalties.h"
#include "engine/sampler.h"

namespace sluice::engine::cuda {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// One row to sample, which owns what a SampleRow is lent.
struct SamplingCase {
  std::vector<float> logits;
  SamplingParams params = {};
  std::vector<int32_t> prompt = {};
  std::vector<int32_t> output = {};
  uint64_t seed = 0;
  uint64_t position = 0;
  int32_t scored_token = -1;
  std::vector<uint32_t> allowed = {};  ///< as in GrammarMasks; empty: all

  SampleRow row() const {
    return {.scored_token = scored_token,
            .params = &params,
            .prompt = prompt,
            .output = output,
            .seed = seed,
            .position = position};
  }
  int32_t vocab_size() const { return static_cast<int32_t>(logits.size()); }
  bool allows(size_t token) const { return allowed.empty() || (allowed[token / 32] >> (token % 32) & 1U) != 0; }
};

/// The logits a draw sees when penalties, biases and the grammar have been applied.
inline std::vector<float> changed_logits(const SamplingCase& a_case) {
  std::vector<float> values = a_case.logits;
  std::vector<float> tops(logit_block_count(values.size()));
  fill_block_tops(values, tops);
  PenaltyScratch scratch;
  apply_penalties({values, tops}, a_case.row(), scratch);
  for (size_t token = 0; token < values.size(); ++token)
    if (!a_case.allows(token)) values[token] = -kInfinity;
  return values;
}

/// The parameters of a draw from changed logits.
inline SamplingParams without_changes(SamplingParams params) {
  params.repetition_penalty = 1.0F;
  params.presence_penalty = 0.0F;
  params.frequency_penalty = 0.0F;
  params.logit_bias.clear();
  return params;
}

inline SampledToken sample_on_cpu(std::vector<float> values, const SampleRow& row) {
  std::vector<float> tops(logit_block_count(values.size()));
  fill_block_tops(values, tops);
  SamplerScratch scratch;
  return sample_token({values, tops}, row, scratch);
}

/// What the CPU's sampler gives. It knows no grammar: of a case with one it gets the logits changed.
inline SampledToken sample_on_cpu(const SamplingCase& a_case) {
  SampledToken sampled = sample_on_cpu(a_case.logits, a_case.row());
  if (a_case.allowed.empty() || a_case.scored_token >= 0) return sampled;
  const SamplingParams params = without_changes(a_case.params);
  SampleRow row = a_case.row();
  row.params = &params;
  sampled.token = sample_on_cpu(changed_logits(a_case), row).token;
  if (params.top_logprobs < 0) return sampled;
  row = a_case.row();
  row.scored_token = sampled.token;
  return sample_on_cpu(a_case.logits, row);
}

/// Cases of every kind there is, from a seed.
class CaseSource {
 public:
  explicit CaseSource(uint32_t seed) : random_(seed) {}

  SamplingCase draw(int32_t vocab_size) {
    SamplingCase drawn{.logits = logits(vocab_size), .params = params(vocab_size)};
    drawn.seed = random_();
    drawn.position = random_();
    add_history(drawn);
    if (one_in(8)) drawn.allowed = mask(vocab_size);
    return drawn;
  }

  bool one_in(int32_t count) { return below(count) == 0; }
  int32_t below(int32_t count) { return std::uniform_int_distribution<int32_t>(0, count - 1)(random_); }

 private:
  template <typename T>
  T any_of(std::initializer_list<T> values) {
    return *(values.begin() + below(static_cast<int32_t>(values.size())));
  }

  std::vector<float> logits(int32_t vocab_size) {
    std::vector<float> values(static_cast<size_t>(vocab_size));
    const float deviation = any_of({0.0F, 0.01F, 1.0F, 3.0F, 30.0F, 1e6F});
    const bool is_coarse = one_in(3);  // many ties, and both zeros
    std::normal_distribution<float> normal(any_of({0.0F, 20.0F, -20.0F}), 1.0F);
    for (float& value : values) {
      value = normal(random_) * deviation;
      if (is_coarse) value = std::round(value);
      if (is_coarse && value == 0.0F && one_in(2)) value = -value;
    }
    if (one_in(3)) spoil(values);
    return values;
  }

  void spoil(std::vector<float>& values) {
    const int32_t often = any_of({1, 2, 10, 200});
    const float bad = any_of({-kInfinity, kNan, kInfinity, std::numeric_limits<float>::max(), -kInfinity, kNan});
    for (float& value : values)
      if (one_in(often)) value = one_in(4) ? kNan : bad;
  }

  SamplingParams params(int32_t vocab_size) {
    SamplingParams params;
    params.temperature = any_of({0.0F, 1e-5F, 0.01F, 0.3F, 0.7F, 1.0F, 1.0F, 1.0F, 1.5F, 10.0F, 1e6F, 1e30F});
    params.top_k = any_of({0, 0, 0, 1, 2, 40, 40, 300, 1 + below(vocab_size), vocab_size - 1, vocab_size});
    params.top_p = any_of({0.1F, 0.5F, 0.75F, 0.9F, 0.95F, 0.999F, 0.99999F, 1.0F, 1.0F, 1.0F});
    params.min_p = any_of({0.0F, 0.0F, 0.0F, 1e-6F, 0.01F, 0.1F, 0.5F, 1.0F});
    params.top_logprobs = any_of({-1, -1, -1, -1, 0, 1, 5, 20});
    if (one_in(4)) {
      params.repetition_penalty = any_of({1.0F, 1.1F, 1.3F, 0.7F});
      params.presence_penalty = any_of({0.0F, 0.3F, -2.0F});
      params.frequency_penalty = any_of({0.0F, 0.7F, 0.1F, -0.3F});
    }
    if (one_in(4)) {
      // Few tokens, so that many are named twice.
      const int32_t tokens = std::min(vocab_size, 1 + below(400));
      for (int32_t i = below(300); i >= 0; --i)
        params.logit_bias.push_back({below(tokens), any_of({100.0F, -100.0F, 0.1F, -3.7F, 5.0F})});
    }
    return params;
  }

  void add_history(SamplingCase& drawn) {
    const int32_t tokens = std::min(drawn.vocab_size(), 1 + below(500));
    for (int32_t i = below(400); i > 0; --i) drawn.prompt.push_back(below(tokens));
    for (int32_t i = below(400); i > 0; --i) drawn.output.push_back(below(tokens));
  }

  std::vector<uint32_t> mask(int32_t vocab_size) {
    std::vector<uint32_t> words(static_cast<size_t>((vocab_size + 31) / 32));
    const bool is_narrow = one_in(2);
    for (uint32_t& word : words) word = is_narrow ? bits() & bits() & bits() : bits() | bits();
    if (one_in(10)) words.assign(words.size(), 0);
    return words;
  }

  uint32_t bits() { return static_cast<uint32_t>(random_()); }

  std::mt19937 random_;
};

}  // namespace sluice::engine::cuda
