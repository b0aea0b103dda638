#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/cuda/cuda_backend.h"
#include "engine/cuda/host_device.h"
#include "tests/cuda/failing_device.h"
#include "tests/engine/sequence_runner.h"

// Steps of a tiny model on the simulated GPU: recorded ones, ones ahead, and what they take of the device.

namespace sluice::engine {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kDeviceBytes = int64_t{256} << 20;
const ExecutorShape kShape{.block_count = 64, .tokens_max = 40, .kv_type = KvType::kBf16};

class CudaSteps : public testing::TestWithParam<const char*> {
 protected:
  std::unique_ptr<ModelExecutor> make() {
    const std::string path = std::string(SLUICE_SOURCE_DIR "/tests/data/tiny/") + GetParam();
    return make_executor(path, kShape, make_cuda_backend(device_, {})).value();
  }

  cuda::HostDevice device_{kDeviceBytes};
};

std::vector<int32_t> prompt_of(int32_t length, int32_t first) {
  std::vector<int32_t> tokens(static_cast<size_t>(length));
  std::iota(tokens.begin(), tokens.end(), first);
  return tokens;
}

/// Bits, not numbers: the same operations in the same order.
bool is_same(const std::vector<SampledToken>& a, const std::vector<SampledToken>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].token != b[i].token || a[i].logprob != b[i].logprob || a[i].top.size() != b[i].top.size()) return false;
  }
  return true;
}

TEST_P(CudaSteps, GiveARowTheSameAloneAndInACrowd) {
  const auto executor = make();
  SequenceRunner runner(*executor, kShape);
  std::vector<TestSequence> crowd;
  for (int32_t i = 0; i < 5; ++i) crowd.push_back({.tokens = prompt_of(3 + i, 20 * i + 5)});
  // Prompts come one after the other, so that there are steps of both kinds and of 1 to 5 decode rows.
  for (size_t step = 0; step < 12; ++step) {
    for (size_t i = 0; i < crowd.size(); ++i) {
      if (crowd[i].decodes()) runner.add_slice(crowd[i], 1);
    }
    if (step % 2 == 0 && step / 2 < crowd.size()) runner.add_slice(crowd[step / 2], crowd[step / 2].uncached());
    runner.step();
  }
  for (const TestSequence& of_crowd : crowd) {
    const std::vector<int32_t> prompt(of_crowd.tokens.begin(), of_crowd.tokens.end() - of_crowd.drawn);
    const TestSequence alone = runner.generate(prompt, of_crowd.drawn);
    EXPECT_TRUE(is_same(alone.samples, of_crowd.samples));
  }
}

TEST_P(CudaSteps, TakeNoMemoryAfterTheStart) {
  const auto executor = make();
  const int64_t allocations = device_.allocation_count();
  const int64_t free = device_.memory().free;
  SequenceRunner runner(*executor, kShape);
  runner.params() = {.temperature = 0.8F, .top_p = 0.9F, .repetition_penalty = 1.2F, .top_logprobs = 20};
  runner.params().logit_bias = {{5, 3.0F}, {7, -3.0F}};
  TestSequence scored{.tokens = prompt_of(30, 3)};
  runner.add_scored_slice(scored, 29);
  runner.step();
  TestSequence all{.tokens = prompt_of(1, 3)};
  runner.add_slice_scoring_all(all, 320);
  runner.step();
  runner.generate(prompt_of(40, 1), 30);
  EXPECT_EQ(device_.allocation_count(), allocations);
  EXPECT_EQ(device_.memory().free, free);
}

INSTANTIATE_TEST_SUITE_P(Models, CudaSteps, testing::Values("llama", "gemma3"),
                         [](const auto& info) { return std::string(info.param); });

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
    const int32_t blocks = (length_ + kShape.block_size - 1) / kShape.block_size;
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
  std::vector<int32_t> next_;
  int32_t length_ = 0;
  SamplingParams params_{.temperature = 1.0F};
  Batch batch_;
};

TEST(CudaStepsAhead, TakeTheTokenThatTheStepBeforeDraws) {
  constexpr int32_t kSteps = 20;
  cuda::HostDevice device(kDeviceBytes);
  const auto executor =
      make_executor(SLUICE_SOURCE_DIR "/tests/data/tiny/llama", kShape, make_cuda_backend(device, {})).value();
  ASSERT_EQ(executor->steps_ahead(), 1);
  std::vector<int32_t> one_by_one;
  OneSequence sequence(prompt_of(5, 9));
  for (int32_t step = 0; step < kSteps; ++step) {
    one_by_one.push_back(executor->step(sequence.next(true))->samples.front().token);
    sequence.append(one_by_one.back());
  }
  std::vector<int32_t> ahead;
  OneSequence again(prompt_of(5, 9));
  ASSERT_TRUE(executor->launch(again.next(true)).ok());
  for (int32_t step = 1; step < kSteps; ++step) {
    ASSERT_TRUE(executor->launch(again.next(false)).ok());
    ahead.push_back(executor->collect()->samples.front().token);
  }
  ahead.push_back(executor->collect()->samples.front().token);
  EXPECT_EQ(ahead, one_by_one);
}

/// Loads a model, makes its cache and recordings and draws three tokens.
Status load_and_step(cuda::Device& device) {
  constexpr const char* kPath = SLUICE_SOURCE_DIR "/tests/data/tiny/llama";
  const ExecutorShape shape{.block_count = 8, .tokens_max = 8, .kv_type = KvType::kBf16};
  SLUICE_ASSIGN_OR_RETURN(const auto executor, make_executor(kPath, shape, make_cuda_backend(device, {})));
  OneSequence sequence(prompt_of(5, 9));
  for (int32_t step = 0; step < 3; ++step) {
    SLUICE_ASSIGN_OR_RETURN(const StepOutput output, executor->step(sequence.next(true)));
    sequence.append(output.samples.front().token);
  }
  return {};
}

// The calls are so many that a prime stride has to do; it meets each kind of them.
TEST(CudaFailure, OfAnyCallIsAStatus) {
  constexpr int64_t kStride = 13;
  for (int64_t calls = 0;; calls += kStride) {
    cuda::HostDevice host(kDeviceBytes);
    cuda::FailingDevice device(host, calls);
    const Status status = load_and_step(device);
    if (status.ok()) {
      EXPECT_GT(calls, 100);
      break;
    }
    ASSERT_THAT(status.message(), HasSubstr("the device fell off the bus")) << "after " << calls << " calls";
  }
}

TEST(CudaMemory, OfTheDeviceIsEnoughForTheCacheThatItsBackendAllows) {
  cuda::HostDevice device(kDeviceBytes);
  const auto checkpoint = Checkpoint::open(SLUICE_SOURCE_DIR "/tests/data/tiny/llama").value();
  LoadedModel model = load_model(*checkpoint, make_cuda_backend(device, {}), kShape.tokens_max).value();
  const KvLayout layout = KvLayout::for_model(model.config, kShape.block_size, kShape.kv_type, kShape.tokens_max);
  const int64_t most = model.backend->cache_bytes_max(layout).value();
  EXPECT_GT(most, kDeviceBytes / 4);
  EXPECT_LT(most, device.memory().free);
  const auto blocks = static_cast<int32_t>(most / layout.block_bytes());
  EXPECT_TRUE(ModelExecutor::create(std::move(model), layout, blocks).ok());
}

TEST(CudaMemory, IsAccountedForToTheLastByte) {
  cuda::HostDevice device(kDeviceBytes);
  auto backend = make_cuda_backend(device, {});
  const Backend& account = *backend;
  const auto executor = make_executor(SLUICE_SOURCE_DIR "/tests/data/tiny/llama", kShape, std::move(backend));
  ASSERT_TRUE(executor.ok());
  int64_t sum = 0;
  std::string purposes;
  for (const MemoryUse& use : account.memory_uses()) {
    sum += use.bytes;
    purposes += use.purpose + ';';
  }
  EXPECT_EQ(sum, kDeviceBytes);
  for (const char* purpose : {"weights;", "activations;", "sampling;", "inputs of a step;", "KV cache;", "free;"}) {
    EXPECT_THAT(purposes, HasSubstr(purpose));
  }
}

}  // namespace
}  // namespace sluice::engine
