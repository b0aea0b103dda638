#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "engine/batch.h"
#include "engine/checkpoint.h"
#include "engine/cpu/cpu_backend.h"
#include "engine/model_executor.h"

namespace sluice::engine {

struct ExecutorShape {
  std::string isa = "auto";
  int32_t threads = 2;
  int32_t block_size = 16;
  int32_t block_count = 256;
  int32_t tokens_max = 512;
  KvType kv_type = KvType::kF16;
};

/// `shape`'s isa and threads are those of a CPU backend.
inline Result<std::unique_ptr<ModelExecutor>> make_executor(const std::string& path, const ExecutorShape& shape,
                                                            std::unique_ptr<Backend> backend) {
  SLUICE_ASSIGN_OR_RETURN(const auto checkpoint, Checkpoint::open(path));
  SLUICE_ASSIGN_OR_RETURN(LoadedModel model, load_model(*checkpoint, std::move(backend), shape.tokens_max));
  const KvLayout layout = KvLayout::for_model(model.config, shape.block_size, shape.kv_type, shape.tokens_max);
  return ModelExecutor::create(std::move(model), layout, shape.block_count);
}

inline Result<std::unique_ptr<ModelExecutor>> make_executor(const std::string& path, const ExecutorShape& shape) {
  SLUICE_ASSIGN_OR_RETURN(auto backend, make_cpu_backend({.threads = shape.threads, .isa = shape.isa}));
  return make_executor(path, shape, std::move(backend));
}

/// One sequence as a test drives it: tokens known so far, how many of them are in the cache, and where.
struct TestSequence {
  std::vector<int32_t> tokens;
  int32_t cached = 0;
  int32_t drawn = 0;                              ///< of the tokens, at the end
  std::vector<std::vector<int32_t>> tables = {};  // [groups] block by place in the context
  std::vector<SampledToken> samples = {};

  int32_t uncached() const { return static_cast<int32_t>(tokens.size()) - cached; }
  /// Its next token is one that was drawn.
  bool decodes() const { return uncached() <= drawn; }
};

/// Steps sequences through an executor, with blocks handed out in shuffled order.
class SequenceRunner {
 public:
  SequenceRunner(ModelExecutor& executor, const ExecutorShape& shape, uint32_t seed = 1)
      : SequenceRunner(executor, executor.layout().groups, shape, seed) {}
  SequenceRunner(Executor& executor, LayerGroups groups, const ExecutorShape& shape, uint32_t seed = 1)
      : executor_(&executor),
        groups_(std::move(groups)),
        block_size_(shape.block_size),
        free_(static_cast<size_t>(shape.block_count)),
        slots_(static_cast<size_t>(groups_.count())),
        tables_(static_cast<size_t>(groups_.count())) {
    std::iota(free_.begin(), free_.end(), 0);
    std::shuffle(free_.begin(), free_.end(), std::mt19937(seed));
    params_.temperature = 0;
    params_.top_logprobs = 20;
  }

  SamplingParams& params() { return params_; }

  /// Adds the next `count` tokens of the sequence to the step; its last token's successor is drawn when the sequence
  /// has no more. Sequences that decode come first in a step.
  void add_slice(TestSequence& sequence, int32_t count) {
    if (sequence.decodes()) {
      ASSERT_EQ(batch_.decode_rows, batch_.row_count());
      ++batch_.decode_rows;
    }
    for (int32_t i = 0; i < count; ++i, ++sequence.cached) {
      if (sequence.cached % block_size_ == 0) take_blocks(sequence);
      batch_.token_ids.push_back(sequence.tokens.at(static_cast<size_t>(sequence.cached)));
      batch_.positions.push_back(sequence.cached);
      for (size_t group = 0; group < slots_.size(); ++group) {
        slots_[group].push_back(sequence.tables[group].back() * block_size_ + sequence.cached % block_size_);
      }
    }
    if (batch_.row_begin.empty()) {
      batch_.row_begin.push_back(0);
      batch_.table_begin.push_back(0);
    }
    batch_.row_begin.push_back(batch_.token_count());
    batch_.context_lengths.push_back(sequence.cached);
    for (size_t group = 0; group < tables_.size(); ++group) append(sequence.tables[group], tables_[group]);
    batch_.table_begin.push_back(static_cast<int32_t>(tables_.front().size()));
    if (sequence.cached == static_cast<int32_t>(sequence.tokens.size())) draw_for(sequence);
  }

  /// Adds the next `count` tokens and scores the known successor of each.
  void add_scored_slice(TestSequence& sequence, int32_t count) {
    const int32_t first = batch_.token_count();
    const int32_t first_cached = sequence.cached;
    add_slice(sequence, count);
    for (int32_t i = 0; i < count; ++i) {
      SampleRow row;
      row.token_index = first + i;
      row.scored_token = sequence.tokens.at(static_cast<size_t>(first_cached + i + 1));
      row.params = &params_;
      batch_.samples.push_back(row);
      drawing_.push_back(nullptr);
    }
  }

  /// Adds the last token of the sequence and scores every token of the vocabulary as its successor.
  void add_slice_scoring_all(TestSequence& sequence, int32_t vocab_size) {
    ASSERT_EQ(sequence.uncached(), 1);
    add_slice(sequence, 1);
    batch_.samples.pop_back();
    drawing_.pop_back();
    for (int32_t token = 0; token < vocab_size; ++token) {
      SampleRow row;
      row.token_index = batch_.token_count() - 1;
      row.scored_token = token;
      row.params = &params_;
      batch_.samples.push_back(row);
      drawing_.push_back(nullptr);
    }
  }

  /// Runs the step; drawn tokens are appended to their sequences. Returns all samples.
  std::vector<SampledToken> step() {
    for (size_t group = 0; group < slots_.size(); ++group) {
      append(std::exchange(slots_[group], {}), batch_.slots);
      append(std::exchange(tables_[group], {}), batch_.block_ids);
    }
    const Result<StepOutput> output = executor_->step(batch_);
    EXPECT_TRUE(output.ok()) << output.status();
    if (!output.ok()) return {};
    for (size_t i = 0; i < drawing_.size(); ++i) {
      if (drawing_[i] == nullptr) continue;
      drawing_[i]->tokens.push_back(output->samples[i].token);
      ++drawing_[i]->drawn;
      drawing_[i]->samples.push_back(output->samples[i]);
    }
    batch_.clear();
    drawing_.clear();
    return output->samples;
  }

  /// Greedy: the next `count` tokens after `prompt`, which goes in as one slice.
  TestSequence generate(const std::vector<int32_t>& prompt, int32_t count) {
    TestSequence sequence{.tokens = prompt};
    for (int32_t i = 0; i < count; ++i) {
      add_slice(sequence, sequence.uncached());
      step();
    }
    release(sequence);
    return sequence;
  }

  void release(TestSequence& sequence) {
    for (size_t group = 0; group < sequence.tables.size(); ++group) {
      std::vector<int32_t>& table = sequence.tables[group];
      if (groups_.has_window(static_cast<int32_t>(group))) {
        table.resize(std::min(table.size(), static_cast<size_t>(groups_.ring_blocks)));
      }
      append(table, free_);
    }
    sequence.tables.clear();
  }

 private:
  static void append(const std::vector<int32_t>& from, std::vector<int32_t>& to) {
    to.insert(to.end(), from.begin(), from.end());
  }

  // The next block of the context in every group; in a full ring it is the one whose tokens nobody sees any more.
  void take_blocks(TestSequence& sequence) {
    sequence.tables.resize(static_cast<size_t>(groups_.count()));
    for (size_t group = 0; group < sequence.tables.size(); ++group) {
      std::vector<int32_t>& table = sequence.tables[group];
      const auto ring = static_cast<size_t>(groups_.ring_blocks);
      if (groups_.has_window(static_cast<int32_t>(group)) && table.size() >= ring) {
        table.push_back(table[table.size() - ring]);
        continue;
      }
      ASSERT_FALSE(free_.empty()) << "the test needs more blocks";
      table.push_back(free_.back());
      free_.pop_back();
    }
  }

  void draw_for(TestSequence& sequence) {
    SampleRow row;
    row.token_index = batch_.token_count() - 1;
    row.params = &params_;
    batch_.samples.push_back(row);
    drawing_.push_back(&sequence);
  }

  Executor* executor_;
  LayerGroups groups_;
  int32_t block_size_;
  std::vector<int32_t> free_;
  std::vector<std::vector<int32_t>> slots_;   // [groups] of the step's tokens
  std::vector<std::vector<int32_t>> tables_;  // [groups] of the step's rows
  SamplingParams params_;
  Batch batch_;
  std::vector<TestSequence*> drawing_;  // by sample; nullptr where one is only scored
};

/// The tokens drawn in a sequence.
inline std::vector<int32_t> drawn_tokens(const TestSequence& sequence) {
  std::vector<int32_t> ids;
  for (const SampledToken& sample : sequence.samples) ids.push_back(sample.token);
  return ids;
}

}  // namespace sluice::engine
