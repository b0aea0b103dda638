#include <algorithm>
#include <cctype>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "engine/cpu/thread_communicators.h"
#include "engine/cuda/cuda_backend.h"
#include "engine/cuda/host_device.h"
#include "engine/quant_scheme.h"
#include "tests/cuda/largest_difference.h"
#include "tests/engine/parallel_ranks.h"
#include "tests/engine/sequence_runner.h"
#include "tests/engine/temporary_folder.h"

// Models whose quantised matrices stay as they are stored (CudaOptions::keeps_blocks).

namespace sluice::engine {
namespace {

constexpr int32_t kVocabSize = 300;  // no multiple of 16
constexpr int32_t kWidth = 256;
/// Rows of its matrices, of queries, keys and values, attention's output, gate and up, and down, but for the ends'.
constexpr int32_t kLayerRows = 512 + 256 + 512 + 256;
constexpr char kConfig[] = R"({"model_type": "qwen2", "vocab_size": 300, "num_hidden_layers": 1, "hidden_size": 256,
    "intermediate_size": FFN, "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 32,
    "rms_norm_eps": 1e-5, "rope_theta": 10000, "tie_word_embeddings": TIES})";

struct Difference {
  bool ties_embeddings = false;
  int32_t ffn_width = 256;
};

constexpr int32_t kFew = 8;  // rows that the kernel for few rows takes
const CudaOptions kBf16{};
const CudaOptions kStored{.keeps_blocks = true, .gemv_rows_max = kFew};

ExecutorShape shape_of(int32_t tokens_max) {
  return {.block_count = 16, .tokens_max = tokens_max, .kv_type = KvType::kBf16};
}
const ExecutorShape kShape = shape_of(24);

class StoredWeights : public testing::Test {
 protected:
  std::string model_of(TensorType type, const Difference& difference = {}) const {
    std::string config = kConfig;
    config.replace(config.find("TIES"), 4, difference.ties_embeddings ? "true" : "false");
    config.replace(config.find("FFN"), 3, std::to_string(difference.ffn_width));
    std::string name = tensor_type_name(type);
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return "synthetic:" + folder_.write("config.json", config) + ":" + name;
  }

  std::unique_ptr<ModelExecutor> on_device(const std::string& path, const CudaOptions& options,
                                           const ExecutorShape& shape = kShape) {
    auto made = make_executor(path, shape, make_cuda_backend(device_, options));
    EXPECT_TRUE(made.ok()) << made.status();
    return std::move(made).value();
  }

  const TemporaryFolder folder_;
  cuda::HostDevice device_{int64_t{64} << 20};
};

/// The log-probabilities of a text's tokens after `tokens` of it, all of which are one step's.
std::vector<float> score(SequenceRunner runner, int32_t tokens) {
  TestSequence sequence;
  for (int32_t i = 0; i <= tokens; ++i) sequence.tokens.push_back((37 * i + 5) % kVocabSize);
  runner.add_scored_slice(sequence, tokens);
  std::vector<float> scores;
  for (const SampledToken& sample : runner.step()) scores.push_back(sample.logprob);
  return scores;
}
std::vector<float> score(ModelExecutor& executor, int32_t tokens) {
  return score(SequenceRunner(executor, kShape), tokens);
}

/// The log-probabilities of what `rows` sequences draw in recorded steps, the first one's.
std::vector<float> decode(ModelExecutor& executor, int32_t rows) {
  SequenceRunner runner(executor, kShape);
  std::vector<TestSequence> sequences;
  for (int32_t i = 0; i < rows; ++i) sequences.push_back({.tokens = {20 + i, 31, 42 + i, 53}});
  for (int32_t step = 0; step < 3; ++step) {
    for (TestSequence& sequence : sequences) {
      runner.add_slice(sequence, sequence.uncached());
      if (step == 0) runner.step();
    }
    if (step > 0) runner.step();
  }
  std::vector<float> drawn;
  for (const SampledToken& sample : sequences.front().samples) {
    for (const TokenLogprob& top : sample.top) drawn.push_back(top.logprob);
  }
  return drawn;
}

int64_t bytes_of(const ModelExecutor& executor, const std::string& purpose) {
  for (const MemoryUse& use : executor.memory_uses()) {
    if (use.purpose == purpose) return use.bytes;
  }
  ADD_FAILURE() << "nothing is taken for " << purpose;
  return 0;
}

// What the CPU rounds to 8 bits makes most of the difference, as it does beside bf16.
TEST_F(StoredWeights, OfEveryTypeComeOutAsOnTheCpu) {
  for (const TensorType type : kQuantizedTypes) {
    SCOPED_TRACE(tensor_type_name(type));
    const std::string path = model_of(type);
    const auto cpu = make_executor(path, kShape).value();
    const auto gpu = on_device(path, kStored);
    EXPECT_LE(largest_difference(score(*gpu, 2), score(*cpu, 2)), 0.1F);
  }
}

TEST_F(StoredWeights, OfEveryTypeGiveTheBitsOfBf16WhereRowsAreMany) {
  CudaOptions in_parts = kStored;
  in_parts.numbers_bytes_max = 100 * kWidth * 2;  // so 96 rows, and of the head's 300 the last part has 12
  for (const TensorType type : kQuantizedTypes) {
    SCOPED_TRACE(tensor_type_name(type));
    const std::string path = model_of(type);
    EXPECT_EQ(score(*on_device(path, in_parts), kFew + 1), score(*on_device(path, kBf16), kFew + 1));
  }
}

TEST_F(StoredWeights, AreReadAsTheyAreWhereRowsAreFew) {
  const std::string path = model_of(TensorType::kQ4_K);
  const auto bf16 = on_device(path, kBf16);
  const auto stored = on_device(path, kStored);
  for (const int32_t tokens : {1, kFew}) {
    EXPECT_NE(score(*stored, tokens), score(*bf16, tokens));
    EXPECT_LE(largest_difference(score(*stored, tokens), score(*bf16, tokens)), 0.04F);
  }
  EXPECT_EQ(score(*stored, kFew + 1), score(*bf16, kFew + 1));
}

TEST_F(StoredWeights, AreReadByRecordedSteps) {
  const std::string path = model_of(TensorType::kQ6_K);
  const auto bf16 = on_device(path, kBf16);
  const auto stored = on_device(path, kStored);
  const std::vector<float> alone = decode(*stored, 1);
  EXPECT_LE(largest_difference(alone, decode(*bf16, 1)), 0.04F);
  EXPECT_EQ(decode(*stored, 3), alone);
}

TEST_F(StoredWeights, TakeOnePathWithoutTheKernel) {
  const std::string path = model_of(TensorType::kQ5_1);
  const auto bf16 = on_device(path, kBf16);
  const auto stored = on_device(path, {.keeps_blocks = true});
  for (const int32_t tokens : {1, kFew, 20}) EXPECT_EQ(score(*stored, tokens), score(*bf16, tokens));
  const std::vector<float> alone = decode(*stored, 1);
  EXPECT_EQ(alone, decode(*bf16, 1));
  EXPECT_EQ(decode(*stored, 10), alone);
}

TEST_F(StoredWeights, BecomeFloatsForProductsOfFloats) {
  const std::string path = model_of(TensorType::kIq4Xs);
  ExecutorShape shape = kShape;
  shape.kv_type = KvType::kF32;
  CudaOptions options{.element = cuda::Element::kF32, .gemv_rows_max = kFew};
  const auto plain = on_device(path, options, shape);
  options.keeps_blocks = true;
  const auto stored = on_device(path, options, shape);
  EXPECT_LT(bytes_of(*stored, "weights"), bytes_of(*plain, "weights") / 2);
  for (const int32_t tokens : {1, 20}) EXPECT_EQ(score(*stored, tokens), score(*plain, tokens));
}

TEST_F(StoredWeights, TakeTheFilesBytes) {
  const std::string path = model_of(TensorType::kQ4_0);
  const int64_t elements = int64_t{kLayerRows + kVocabSize} * kWidth;
  EXPECT_EQ(bytes_of(*on_device(path, kBf16), "weights") - bytes_of(*on_device(path, kStored), "weights"),
            2 * elements - tensor_bytes(TensorType::kQ4_0, elements));
}

TEST_F(StoredWeights, LeaveAHeadThatIsTheTableInBf16) {
  const std::string path = model_of(TensorType::kQ8_0, {.ties_embeddings = true});
  const auto bf16 = on_device(path, kBf16);
  const auto stored = on_device(path, kStored);
  const int64_t elements = int64_t{kLayerRows} * kWidth;
  EXPECT_EQ(bytes_of(*bf16, "weights") - bytes_of(*stored, "weights"),
            2 * elements - tensor_bytes(TensorType::kQ8_0, elements));
  EXPECT_EQ(score(*stored, 20), score(*bf16, 20));
}

TEST_F(StoredWeights, TakeMemoryForNumbersOnlyAsFarAsTheyAreMade) {
  const std::string path = model_of(TensorType::kQ4_0, {.ffn_width = 1024});
  const auto activations = [&](CudaOptions options, int64_t numbers_bytes_max, int32_t tokens_max) {
    options.numbers_bytes_max = numbers_bytes_max;
    return bytes_of(*on_device(path, options, shape_of(tokens_max)), "activations");
  };
  constexpr int64_t kLargest = 2048 * kWidth * 2;
  constexpr int64_t kLeast = 16 * kWidth * 2;
  const int64_t whole = activations(kStored, 1 << 30, kFew + 1);
  EXPECT_EQ(activations(kStored, kLargest, kFew + 1), whole);
  EXPECT_GE(whole, kLargest);
  EXPECT_EQ(activations(kStored, 0, kFew + 1), activations(kStored, kLeast, kFew + 1));
  EXPECT_LT(activations(kStored, kLeast, kFew + 1), kLargest);
  // Where no step has more rows than the kernel takes, there are none.
  EXPECT_EQ(activations(kStored, 1 << 30, kFew), activations(kBf16, 1 << 30, kFew));
}

TEST_F(StoredWeights, AreCutForRanksAndKeptByEach) {
  const std::string path = model_of(TensorType::kQ5_0);
  const auto scores = [&](const CudaOptions& options) {
    auto group = std::make_unique<ThreadCommunicators>(2);
    std::vector<std::unique_ptr<cuda::HostDevice>> devices;
    RankBackends ranks;
    for (int32_t rank = 0; rank < 2; ++rank) {
      devices.push_back(std::make_unique<cuda::HostDevice>(int64_t{64} << 20, gpu::simt::Order{}, &group->of(rank)));
      ranks.backends.push_back(make_cuda_backend(*devices.back(), options));
    }
    ranks.group = std::move(group);
    auto model = make_parallel_model(path, kShape, std::move(ranks)).value();
    auto both = score(SequenceRunner(*model.executor, model.groups, kShape), 20);
    for (const float few : score(SequenceRunner(*model.executor, model.groups, kShape), kFew)) both.push_back(few);
    model.executor.reset();
    return both;
  };
  const std::vector<float> bf16 = scores(kBf16);
  EXPECT_EQ(scores({.keeps_blocks = true}), bf16);
  EXPECT_LE(largest_difference(scores(kStored), bf16), 0.04F);
}

}  // namespace
}  // namespace sluice::engine
