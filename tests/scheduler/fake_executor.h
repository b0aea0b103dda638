#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/executor.h"
#include "scheduler/submission.h"

namespace sluice::scheduler {

/// The fake model as a function: what follows `context`, drawn for `row`, or the score of row.scored_token. `context`
/// is everything the model can see; the row's own history and seed count as well, so a wrong one shows.
engine::SampledToken fake_sample(std::span<const int32_t> context, const engine::SampleRow& row, int32_t vocab_size);

/// Runs the fake model with no scheduler, cache or batch: the only right output of sequence `index`, up to its last
/// token.
std::vector<int32_t> solo_output(const Submission& submission, int32_t index, int32_t vocab_size);
/// The only right scores of the prompt's tokens from position 1 on.
std::vector<engine::SampledToken> solo_scores(const Submission& submission, int32_t vocab_size);

/// A model whose KV memory is an array of tokens, each with a hash of all that stood before it when it was written. A
/// step writes each input token to its slot and reads the whole context of every sample back through the block table,
/// so a wrong slot, position, block or length changes what comes out, and so does a block that was computed after other
/// tokens than those it stands behind now.
class FakeExecutor final : public engine::Executor {
 public:
  FakeExecutor(int32_t block_count, int32_t block_size, int32_t vocab_size);

  Result<engine::StepOutput> step(const engine::Batch& batch) override;

  /// The next step fails with this and writes nothing.
  void fail_next_step(Status status) { failure_ = std::move(status); }

 private:
  void write(const engine::Batch& batch);
  std::vector<int32_t> read_context(const engine::Batch& batch, int32_t token_index) const;
  size_t slot_of(const engine::Batch& batch, size_t row, int32_t position) const;

  const int32_t block_size_;
  const int32_t vocab_size_;
  std::vector<int32_t> memory_;   // [slots] token ids; -1: never written
  std::vector<uint64_t> hashes_;  // [slots] of the tokens up to this one
  std::optional<Status> failure_;
};

}  // namespace sluice::scheduler
