#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "engine/executor.h"
#include "kvcache/block_growth.h"
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

/// The tables of a model with a layer for each group, as the engine lays it out: with rings that are just large enough
/// for slices of `slice_max` tokens.
kvcache::BlockGrowth windowed_growth(int32_t block_size, int32_t full_groups, int32_t window_groups, int32_t window,
                                     int32_t slice_max);

/// A model whose KV memory is an array of tokens, each with a hash of all that stood before it when it was written. A
/// step writes each input token to its slot of every group of layers and reads the context of every sample back through
/// each group's block table: all of it for layers that see it all, its end for those with a window. So a wrong slot,
/// position, block or length changes what comes out, and so does a block that was computed after other tokens than
/// those it stands behind now, or one that was overwritten too early. What tokens without a sample see in windows is
/// looked at too; a hole in it aborts.
///
/// A step writes nothing before it is collected, which is as late as a device may. A batch with a block that a step
/// under way still writes to aborts, unless its row goes on where that one ends.
class FakeExecutor final : public engine::Executor {
 public:
  /// Windows are of 2 tokens or more: what a token sees hangs together.
  FakeExecutor(int32_t block_count, const kvcache::BlockGrowth& growth, int32_t vocab_size, int32_t steps_ahead = 0);
  FakeExecutor(int32_t block_count, int32_t block_size, int32_t vocab_size)
      : FakeExecutor(block_count, kvcache::BlockGrowth{block_size}, vocab_size) {}

  Status launch(const engine::Batch& batch) override;
  Result<engine::StepOutput> collect() override;
  int32_t steps_ahead() const override { return steps_ahead_; }

  /// The next step that is collected fails with this and writes nothing, and so do those that are launched by then.
  void fail_next_step(Status status) { failure_ = std::move(status); }
  /// The next step isn't launched.
  void fail_next_launch(Status status) { launch_failure_ = std::move(status); }
  int32_t steps_under_way() const { return static_cast<int32_t>(launched_.size()); }

 private:
  /// A batch and what it lends, which is gone when the step is computed.
  struct Launched {
    explicit Launched(const engine::Batch& lent);
    Launched(Launched&&) = delete;

    engine::Batch batch;
    std::vector<engine::SamplingParams> params;  // [samples], as are the next
    std::vector<std::vector<int32_t>> prompts;
    std::vector<std::vector<int32_t>> outputs;
  };

  void check_drawn_before(const engine::Batch& batch) const;
  void check_blocks_under_way(const engine::Batch& batch) const;
  void check_blocks_of(const engine::Batch& batch, const engine::Batch& under_way) const;
  void fill_in_drawn(Launched& step) const;
  engine::StepOutput compute(const engine::Batch& batch);
  void write(const engine::Batch& batch, int32_t group);
  void check_window(const engine::Batch& batch, int32_t group) const;
  /// The first position of its context that a token of the group's layers sees.
  int32_t first_seen(int32_t group, int32_t position) const;
  std::vector<int32_t> read_context(const engine::Batch& batch, const engine::SampleRow& sample) const;
  void read(const engine::Batch& batch, int32_t group, size_t row, std::span<int32_t> context) const;
  size_t slot_of(const engine::Batch& batch, int32_t group, size_t row, int32_t position) const;

  const kvcache::BlockGrowth growth_;
  const int32_t vocab_size_;
  std::vector<int32_t> memory_;   // [slots] token ids; -1: never written
  std::vector<uint64_t> hashes_;  // [slots] of the tokens up to this one
  const int32_t steps_ahead_;
  std::deque<Launched> launched_;                 // oldest first
  std::vector<engine::SampledToken> last_drawn_;  // samples of the step that was collected last
  std::optional<Status> failure_;
  std::optional<Status> launch_failure_;
};

}  // namespace sluice::scheduler
