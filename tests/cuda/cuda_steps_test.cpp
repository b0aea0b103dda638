#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/cuda/cuda_backend.h"
#include "engine/cuda/host_device.h"
#include "tests/cuda/failing_device.h"
#include "tests/cuda/one_sequence.h"
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

TEST_P(CudaSteps, HaveNamesWhileSomebodyProfiles) {
  const auto executor = make();
  SequenceRunner runner(*executor, kShape);
  runner.generate(prompt_of(7, 1), 2);
  std::vector<std::string> names;
  device_.profile(names);
  runner.generate(prompt_of(7, 1), 2);
  EXPECT_THAT(names, testing::ElementsAre("step: 0 decode rows, context 0, 7 prompt tokens",
                                          "step: 1 decode rows, context 8, 0 prompt tokens"));
}

INSTANTIATE_TEST_SUITE_P(Models, CudaSteps, testing::Values("llama", "gemma3", "mixtral"),
                         [](const auto& info) { return std::string(info.param); });

TEST(CudaStepsAhead, TakeTheTokenThatTheStepBeforeDraws) {
  constexpr int32_t kSteps = 20;
  cuda::HostDevice device(kDeviceBytes);
  const auto executor =
      make_executor(SLUICE_SOURCE_DIR "/tests/data/tiny/llama", kShape, make_cuda_backend(device, {})).value();
  ASSERT_EQ(executor->steps_ahead(), 1);
  EXPECT_EQ(drawn_ahead(*executor, kSteps), drawn_one_by_one(*executor, kSteps));
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

class CudaMemory : public testing::TestWithParam<const char*> {
 protected:
  static std::string path() { return std::string(SLUICE_SOURCE_DIR "/tests/data/tiny/") + GetParam(); }
};

TEST_P(CudaMemory, OfTheDeviceIsEnoughForTheCacheThatItsBackendAllows) {
  cuda::HostDevice device(kDeviceBytes);
  const auto checkpoint = Checkpoint::open(path()).value();
  LoadedModel model = load_model(*checkpoint, make_cuda_backend(device, {}), kShape.tokens_max).value();
  const KvLayout layout = KvLayout::for_model(model.config, kShape.block_size, kShape.kv_type, kShape.tokens_max);
  const int64_t most = model.backend->cache_bytes_max(layout).value();
  EXPECT_GT(most, kDeviceBytes / 4);
  EXPECT_LT(most, device.memory().free);
  const auto blocks = static_cast<int32_t>(most / layout.block_bytes());
  EXPECT_TRUE(ModelExecutor::create(std::move(model), layout, blocks).ok());
}

TEST_P(CudaMemory, IsAccountedForToTheLastByte) {
  cuda::HostDevice device(kDeviceBytes);
  auto backend = make_cuda_backend(device, {});
  const Backend& account = *backend;
  const auto executor = make_executor(path(), kShape, std::move(backend));
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

INSTANTIATE_TEST_SUITE_P(Models, CudaMemory, testing::Values("llama", "mixtral"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace sluice::engine
