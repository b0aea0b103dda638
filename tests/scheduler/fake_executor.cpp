#include "tests/scheduler/fake_executor.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/counter_random.h"

namespace sluice::scheduler {
namespace {

uint64_t hash_tokens(uint64_t hash, std::span<const int32_t> tokens) {
  for (const int32_t token : tokens) hash = random_bits(hash, static_cast<uint64_t>(token));
  return random_bits(hash, tokens.size());
}

/// A sample row for what follows the submission's prompt and `output`, as the batch builder should make it.
engine::SampleRow solo_row(const Submission& submission, std::span<const int32_t> output, uint64_t seed) {
  return {.params = &submission.sampling,
          .prompt = submission.prompt,
          .output = output,
          .seed = seed,
          .position = submission.prompt.size() + output.size()};
}

}  // namespace

engine::SampledToken fake_sample(std::span<const int32_t> context, const engine::SampleRow& row, int32_t vocab_size) {
  uint64_t hash = hash_tokens(hash_tokens(hash_tokens(1, context), row.prompt), row.output);
  if (row.params->temperature > 0) hash = random_bits(hash ^ row.seed, row.position);
  if (row.scored_token >= 0) {
    const uint64_t score = random_bits(hash, static_cast<uint64_t>(row.scored_token)) % 1000;
    return {.token = row.scored_token, .logprob = -static_cast<float>(score) / 100, .top = {}};
  }
  return {.token = static_cast<int32_t>(hash % static_cast<uint64_t>(vocab_size)), .logprob = -1, .top = {}};
}

std::vector<int32_t> solo_output(const Submission& submission, int32_t index, int32_t vocab_size) {
  const uint64_t seed = index == 0 ? submission.seed : random_bits(submission.seed, static_cast<uint64_t>(index));
  const std::vector<int32_t>& stops = submission.stop_token_ids;
  std::vector<int32_t> context = submission.prompt;
  std::vector<int32_t> output;
  while (static_cast<int32_t>(output.size()) < submission.max_new_tokens) {
    const int32_t token = fake_sample(context, solo_row(submission, output, seed), vocab_size).token;
    context.push_back(token);
    output.push_back(token);
    if (std::find(stops.begin(), stops.end(), token) != stops.end()) break;
  }
  return output;
}

std::vector<engine::SampledToken> solo_scores(const Submission& submission, int32_t vocab_size) {
  std::vector<engine::SampledToken> scores;
  for (size_t position = 1; position < submission.prompt.size(); ++position) {
    engine::SampleRow row = solo_row(submission, {}, submission.seed);
    row.scored_token = submission.prompt[position];
    row.position = position;
    scores.push_back(fake_sample(std::span(submission.prompt).first(position), row, vocab_size));
  }
  return scores;
}

FakeExecutor::FakeExecutor(int32_t block_count, int32_t block_size, int32_t vocab_size)
    : block_size_(block_size),
      vocab_size_(vocab_size),
      memory_(static_cast<size_t>(block_count * block_size), -1),
      hashes_(memory_.size(), 0) {}

Result<engine::StepOutput> FakeExecutor::step(const engine::Batch& batch) {
  if (failure_) return *std::exchange(failure_, std::nullopt);
  write(batch);
  engine::StepOutput output;
  for (const engine::SampleRow& row : batch.samples) {
    output.samples.push_back(fake_sample(read_context(batch, row.token_index), row, vocab_size_));
  }
  return output;
}

size_t FakeExecutor::slot_of(const engine::Batch& batch, size_t row, int32_t position) const {
  const int32_t entry = batch.table_begin.at(row) + position / block_size_;
  SLUICE_CHECK(entry < batch.table_begin.at(row + 1));
  const int32_t block = batch.block_ids.at(static_cast<size_t>(entry));
  return static_cast<size_t>(block * block_size_ + position % block_size_);
}

void FakeExecutor::write(const engine::Batch& batch) {
  for (size_t row = 0; row + 1 < batch.row_begin.size(); ++row) {
    for (int32_t i = batch.row_begin[row]; i < batch.row_begin[row + 1]; ++i) {
      const auto index = static_cast<size_t>(i);
      const int32_t position = batch.positions[index];
      const auto slot = static_cast<size_t>(batch.slots[index]);
      const uint64_t before = position == 0 ? 1 : hashes_.at(slot_of(batch, row, position - 1));
      memory_.at(slot) = batch.token_ids[index];
      hashes_.at(slot) = random_bits(before, static_cast<uint64_t>(batch.token_ids[index]));
    }
  }
}

std::vector<int32_t> FakeExecutor::read_context(const engine::Batch& batch, int32_t token_index) const {
  const auto after = std::upper_bound(batch.row_begin.begin(), batch.row_begin.end(), token_index);
  const auto row = static_cast<size_t>(after - batch.row_begin.begin()) - 1;
  const int32_t length = batch.context_lengths.at(row) - (batch.row_begin.at(row + 1) - 1 - token_index);
  std::vector<int32_t> context;
  uint64_t hash = 1;
  for (int32_t position = 0; position < length; ++position) {
    const size_t slot = slot_of(batch, row, position);
    const int32_t token = memory_.at(slot);
    hash = random_bits(hash, static_cast<uint64_t>(token));
    context.push_back(hash == hashes_.at(slot) ? token : -1);
  }
  return context;
}

}  // namespace sluice::scheduler
