#pragma once

#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "engine/executor.h"
#include "tests/engine/sequence_runner.h"

// One sequence, stepped with and without waiting for what the step before drew.

namespace sluice::engine {

inline std::vector<int32_t> prompt_of(int32_t length, int32_t first) {
  std::vector<int32_t> tokens(static_cast<size_t>(length));
  std::iota(tokens.begin(), tokens.end(), first);
  return tokens;
}

/// A batch of one sequence over the first blocks.
class OneSequence {
 public:
  explicit OneSequence(std::vector<int32_t> prompt) : next_(std::move(prompt)) {}

  /// The next step's batch; `is_known` when the token drawn last is among append()ed ones.
  const Batch& next(bool is_known) {
    batch_.clear();
    const bool is_prompt = length_ == 0;
    if (!is_known) next_ = {0};
    batch_.decode_rows = is_prompt ? 0 : 1;
    if (!is_known) batch_.drawn_before = {0};
    for (const int32_t token : next_) {
      batch_.token_ids.push_back(token);
      batch_.positions.push_back(length_);
      batch_.slots.push_back(length_++);
    }
    batch_.row_begin = {0, batch_.token_count()};
    batch_.context_lengths = {length_};
    const int32_t blocks = (length_ + kBlockSize - 1) / kBlockSize;
    batch_.table_begin = {0, blocks};
    batch_.block_ids = prompt_of(blocks, 0);
    SampleRow sample;
    sample.token_index = batch_.token_count() - 1;
    sample.params = &params_;
    sample.position = static_cast<uint64_t>(length_);
    batch_.samples = {sample};
    return batch_;
  }
  void append(int32_t token) { next_ = {token}; }

 private:
  static constexpr int32_t kBlockSize = ExecutorShape{}.block_size;

  std::vector<int32_t> next_;
  int32_t length_ = 0;
  SamplingParams params_{.temperature = 1.0F};
  Batch batch_;
};

/// The first `steps` tokens after a prompt, each known when the next step is launched.
inline std::vector<int32_t> drawn_one_by_one(Executor& executor, int32_t steps) {
  std::vector<int32_t> tokens;
  OneSequence sequence(prompt_of(5, 9));
  for (int32_t step = 0; step < steps; ++step) {
    const Result<StepOutput> output = executor.step(sequence.next(true));
    EXPECT_TRUE(output.ok()) << output.status();
    if (!output.ok()) break;
    tokens.push_back(output->samples.front().token);
    sequence.append(tokens.back());
  }
  return tokens;
}

/// The same ones, each step launched before the token of the one before is known.
inline std::vector<int32_t> drawn_ahead(Executor& executor, int32_t steps) {
  std::vector<int32_t> tokens;
  OneSequence sequence(prompt_of(5, 9));
  for (int32_t step = 0; step <= steps; ++step) {
    if (step < steps) {
      EXPECT_TRUE(executor.launch(sequence.next(step == 0)).ok());
    }
    if (step > 0) tokens.push_back(executor.collect()->samples.front().token);
  }
  return tokens;
}

}  // namespace sluice::engine
