#include "tests/scheduler/fake_executor.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/check.h"
#include "base/counter_random.h"
#include "engine/kv_layout.h"

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

kvcache::BlockGrowth windowed_growth(int32_t block_size, int32_t full_groups, int32_t window_groups, int32_t window,
                                     int32_t slice_max) {
  engine::ModelConfig model;
  model.layer_count = full_groups + window_groups;
  model.layer_has_window.assign(static_cast<size_t>(model.layer_count), true);
  std::fill_n(model.layer_has_window.begin(), full_groups, false);
  model.window = window;
  return kvcache::BlockGrowth::of(engine::KvLayout::for_model(model, block_size, engine::KvType::kF16, slice_max));
}

FakeExecutor::FakeExecutor(int32_t block_count, const kvcache::BlockGrowth& growth, int32_t vocab_size,
                           int32_t steps_ahead)
    : growth_(growth),
      vocab_size_(vocab_size),
      memory_(static_cast<size_t>(block_count * growth.block_size), -1),
      hashes_(memory_.size(), 0),
      steps_ahead_(steps_ahead) {
  SLUICE_CHECK(growth_.window_groups == 0 || growth_.window >= 2);
}

FakeExecutor::Launched::Launched(const engine::Batch& lent) : batch(lent) {
  for (const engine::SampleRow& row : lent.samples) {
    params.push_back(*row.params);
    prompts.emplace_back(row.prompt.begin(), row.prompt.end());
    outputs.emplace_back(row.output.begin(), row.output.end());
  }
  for (size_t i = 0; i < params.size(); ++i) {
    batch.samples[i].params = &params[i];
    batch.samples[i].prompt = prompts[i];
    batch.samples[i].output = outputs[i];
  }
}

Status FakeExecutor::launch(const engine::Batch& batch) {
  if (launch_failure_) return *std::exchange(launch_failure_, std::nullopt);
  SLUICE_CHECK(steps_under_way() <= steps_ahead_);
  check_drawn_before(batch);
  check_blocks_under_way(batch);
  launched_.emplace_back(batch);
  return {};
}

Result<engine::StepOutput> FakeExecutor::collect() {
  SLUICE_CHECK(!launched_.empty());
  Launched& step = launched_.front();
  if (failure_) {
    // What it was to write isn't there, so no step behind it can be computed either.
    launched_.pop_front();
    const Status status = *failure_;
    if (launched_.empty()) failure_.reset();
    return status;
  }
  fill_in_drawn(step);
  engine::StepOutput output = compute(step.batch);
  launched_.pop_front();
  last_drawn_ = output.samples;
  return output;
}

void FakeExecutor::check_drawn_before(const engine::Batch& batch) const {
  SLUICE_CHECK(batch.drawn_before.empty() || std::ssize(batch.drawn_before) == batch.decode_rows);
  for (size_t row = 0; row < batch.drawn_before.size(); ++row) {
    if (batch.drawn_before[row] < 0) continue;
    SLUICE_CHECK(!launched_.empty());
    const engine::SampleRow& source = launched_.back().batch.samples.at(static_cast<size_t>(batch.drawn_before[row]));
    SLUICE_CHECK(source.scored_token < 0);
    SLUICE_CHECK(batch.token_ids.at(row) == 0);
    for (const engine::SampleRow& sample : batch.samples) {
      if (sample.token_index == static_cast<int32_t>(row)) SLUICE_CHECK(!sample.params->has_penalties());
    }
  }
}

void FakeExecutor::check_blocks_under_way(const engine::Batch& batch) const {
  for (const Launched& step : launched_) check_blocks_of(batch, step.batch);
}

void FakeExecutor::check_blocks_of(const engine::Batch& batch, const engine::Batch& under_way) const {
  std::map<int32_t, int32_t> ends;  // of the row that writes to a block
  for (int32_t group = 0; group < growth_.groups(); ++group) {
    for (size_t row = 0; row + 1 < under_way.row_begin.size(); ++row) {
      for (int32_t i = under_way.row_begin[row]; i < under_way.row_begin[row + 1]; ++i) {
        const auto slot = under_way.slots.at(static_cast<size_t>(group * under_way.token_count() + i));
        ends[slot / growth_.block_size] = under_way.context_lengths[row];
      }
    }
  }
  for (int32_t group = 0; group < growth_.groups(); ++group) {
    for (size_t row = 0; row + 1 < batch.row_begin.size(); ++row) {
      const int32_t begin = batch.positions.at(static_cast<size_t>(batch.row_begin[row]));
      for (int32_t entry = batch.table_begin[row]; entry < batch.table_begin[row + 1]; ++entry) {
        const auto end = ends.find(batch.block_ids.at(static_cast<size_t>(group * batch.table_begin.back() + entry)));
        SLUICE_CHECK(end == ends.end() || end->second == begin);
      }
    }
  }
}

/// Tokens that the step before has drawn, where the device has them.
void FakeExecutor::fill_in_drawn(Launched& step) const {
  for (size_t row = 0; row < step.batch.drawn_before.size(); ++row) {
    if (step.batch.drawn_before[row] < 0) continue;
    const int32_t token = last_drawn_.at(static_cast<size_t>(step.batch.drawn_before[row])).token;
    step.batch.token_ids[row] = token;
    for (size_t i = 0; i < step.batch.samples.size(); ++i) {
      if (step.batch.samples[i].token_index != static_cast<int32_t>(row)) continue;
      step.outputs[i].push_back(token);
      step.batch.samples[i].output = step.outputs[i];
    }
  }
}

engine::StepOutput FakeExecutor::compute(const engine::Batch& batch) {
  for (int32_t group = 0; group < growth_.groups(); ++group) {
    write(batch, group);
    if (group >= growth_.full_groups) check_window(batch, group);
  }
  engine::StepOutput output;
  for (const engine::SampleRow& row : batch.samples) {
    output.samples.push_back(fake_sample(read_context(batch, row), row, vocab_size_));
  }
  return output;
}

size_t FakeExecutor::slot_of(const engine::Batch& batch, int32_t group, size_t row, int32_t position) const {
  const int32_t block_size = growth_.block_size;
  const int32_t entry = batch.table_begin.at(row) + position / block_size;
  SLUICE_CHECK(entry < batch.table_begin.at(row + 1));
  const int32_t block = batch.block_ids.at(static_cast<size_t>(group * batch.table_begin.back() + entry));
  return static_cast<size_t>(block * block_size + position % block_size);
}

void FakeExecutor::write(const engine::Batch& batch, int32_t group) {
  for (size_t row = 0; row + 1 < batch.row_begin.size(); ++row) {
    for (int32_t i = batch.row_begin[row]; i < batch.row_begin[row + 1]; ++i) {
      const auto index = static_cast<size_t>(i);
      const int32_t position = batch.positions[index];
      const auto slot = static_cast<size_t>(batch.slots.at(static_cast<size_t>(group * batch.token_count() + i)));
      const uint64_t before = position == 0 ? 1 : hashes_.at(slot_of(batch, group, row, position - 1));
      memory_.at(slot) = batch.token_ids[index];
      hashes_.at(slot) = random_bits(before, static_cast<uint64_t>(batch.token_ids[index]));
    }
  }
}

// All of a slice's tokens are stored before the first of them looks back.
void FakeExecutor::check_window(const engine::Batch& batch, int32_t group) const {
  for (size_t row = 0; row + 1 < batch.row_begin.size(); ++row) {
    const int32_t first = batch.positions.at(static_cast<size_t>(batch.row_begin[row]));
    for (int32_t position = first_seen(group, first) + 1; position < batch.context_lengths[row]; ++position) {
      const size_t slot = slot_of(batch, group, row, position);
      const uint64_t before = hashes_.at(slot_of(batch, group, row, position - 1));
      SLUICE_CHECK(hashes_.at(slot) == random_bits(before, static_cast<uint64_t>(memory_.at(slot))));
    }
  }
}

int32_t FakeExecutor::first_seen(int32_t group, int32_t position) const {
  return group < growth_.full_groups ? 0 : std::max(0, position - growth_.window + 1);
}

/// The tokens that the sample's own history names, but -1 for those of which a group's cache knows something else.
std::vector<int32_t> FakeExecutor::read_context(const engine::Batch& batch, const engine::SampleRow& sample) const {
  const auto after = std::upper_bound(batch.row_begin.begin(), batch.row_begin.end(), sample.token_index);
  const auto row = static_cast<size_t>(after - batch.row_begin.begin()) - 1;
  const int32_t length = batch.context_lengths.at(row) - (batch.row_begin.at(row + 1) - 1 - sample.token_index);
  std::vector<int32_t> context(sample.prompt.begin(), sample.prompt.end());
  context.insert(context.end(), sample.output.begin(), sample.output.end());
  context.resize(static_cast<size_t>(length), -1);
  for (int32_t group = 0; group < growth_.groups(); ++group) read(batch, group, row, context);
  return context;
}

void FakeExecutor::read(const engine::Batch& batch, int32_t group, size_t row, std::span<int32_t> context) const {
  const auto length = static_cast<int32_t>(context.size());
  uint64_t hash = 1;
  for (int32_t position = 0; position < length; ++position) {
    int32_t& token = context[static_cast<size_t>(position)];
    hash = random_bits(hash, static_cast<uint64_t>(token));
    if (position < first_seen(group, length - 1)) continue;
    const size_t slot = slot_of(batch, group, row, position);
    if (memory_.at(slot) != token || hashes_.at(slot) != hash) token = -1;
  }
}

}  // namespace sluice::scheduler
