#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "engine/cuda/cuda_backend.h"
#include "engine/cuda/drawn_tokens.h"
#include "engine/cuda/first_sums.h"
#include "engine/cuda/host_device.h"
#include "tests/cuda/one_sequence.h"
#include "tests/engine/parallel_ranks.h"

// Simulated devices that share a model.

namespace sluice::engine::cuda {
namespace {

constexpr int64_t kDeviceBytes = int64_t{64} << 20;

/// A device for each rank. Models that are shared over them die before them.
struct RankDevices {
  explicit RankDevices(int32_t count) : group(std::make_unique<ThreadCommunicators>(count)) {
    for (int32_t rank = 0; rank < count; ++rank) {
      devices.push_back(std::make_unique<HostDevice>(kDeviceBytes, gpu::simt::Order{}, &group->of(rank)));
    }
  }

  std::unique_ptr<ThreadCommunicators> group;
  std::vector<std::unique_ptr<HostDevice>> devices;
};

/// Four values in the device's memory.
struct FourValues {
  FourValues(Device& device, const std::array<float, 4>& values)
      : buffer(DeviceBuffer::allocate(device, sizeof(values), "a test").value()) {
    EXPECT_TRUE(device.copy_in(buffer.as<float>(), values.data(), sizeof(values)).ok());
  }

  DeviceBuffer buffer;
};

TEST(DeviceRanks, AddUpWhenTheyWaitForIt) {
  RankDevices ranks(3);
  RankThreads threads(3);
  threads.run([&](int32_t rank) {
    HostDevice& device = *ranks.devices[static_cast<size_t>(rank)];
    EXPECT_EQ(device.rank_count(), 3);
    const auto own = static_cast<float>(rank);
    const FourValues values(device, {own, 1, 10 * own, -own});
    ASSERT_TRUE(device.all_reduce(values.buffer.as<float>(), 3).ok());
    EXPECT_EQ(values.buffer.as<float>()[1], 1);  // not done yet
    std::array<float, 4> sums{};
    ASSERT_TRUE(device.copy_out(sums.data(), values.buffer.as<float>(), sizeof(sums)).ok());
    EXPECT_EQ(sums, (std::array<float, 4>{3, 3, 30, -own}));
  });
}

TEST(DeviceRanks, AddUpAsOftenAsARecordingIsRun) {
  RankDevices ranks(2);
  RankThreads threads(2);
  threads.run([&](int32_t rank) {
    HostDevice& device = *ranks.devices[static_cast<size_t>(rank)];
    const FourValues values(device, {1, 1, 1, 1});
    ASSERT_TRUE(device.begin_recording().ok());
    ASSERT_TRUE(device.all_reduce(values.buffer.as<float>(), 4).ok());
    const auto graph = device.end_recording().value();
    for (int run = 0; run < 3; ++run) ASSERT_TRUE(device.run(*graph).ok());
    ASSERT_TRUE(device.synchronize().ok());
    EXPECT_EQ(values.buffer.as<float>()[3], 8);
  });
}

TEST(DeviceRanks, TellOfARankThatHasLeftWhenTheyWaitAndFromThenOn) {
  RankDevices ranks(2);
  ranks.group->of(1).leave();
  HostDevice& device = *ranks.devices[0];
  const FourValues values(device, {1, 1, 1, 1});
  const auto event = device.make_event().value();
  ASSERT_TRUE(device.all_reduce(values.buffer.as<float>(), 4).ok());
  ASSERT_TRUE(device.record(*event).ok());
  EXPECT_EQ(device.wait(*event).code(), StatusCode::kUnavailable);
  EXPECT_EQ(device.synchronize().code(), StatusCode::kUnavailable);
  float value = 0;
  EXPECT_EQ(device.copy_out(&value, values.buffer.as<float>(), sizeof(value)).code(), StatusCode::kUnavailable);
}

TEST(DeviceRanks, AreOneWithoutOthersAndLeaveValuesAsTheyAre) {
  HostDevice device(kDeviceBytes);
  EXPECT_EQ(device.rank_count(), 1);
  const FourValues values(device, {1, 2, 3, 4});
  ASSERT_TRUE(device.all_reduce(values.buffer.as<float>(), 4).ok());
  ASSERT_TRUE(device.synchronize().ok());
  EXPECT_EQ(values.buffer.as<float>()[3], 4);
}

std::vector<std::unique_ptr<Device>> devices_of(RankDevices& ranks) {
  std::vector<std::unique_ptr<Device>> devices;
  for (auto& device : ranks.devices) devices.push_back(std::move(device));
  return devices;
}

TEST(FirstSums, AreMadeOnAllAndLeaveNoMemoryTaken) {
  RankDevices ranks(3);
  const auto devices = devices_of(ranks);
  EXPECT_TRUE(make_first_sums(devices, 1 << 20, *ranks.group).ok());
  for (const auto& device : devices) EXPECT_EQ(device->memory().free, kDeviceBytes);
}

TEST(FirstSums, TellWhichDeviceHasNoRoomAndLeaveNoneWaiting) {
  RankDevices ranks(3);
  ranks.devices[1] = std::make_unique<HostDevice>(int64_t{1} << 20, gpu::simt::Order{}, &ranks.group->of(1));
  const auto devices = devices_of(ranks);
  const Status failed = make_first_sums(devices, 1 << 20, *ranks.group);
  EXPECT_EQ(failed.code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(failed.message(), "no 4194304 bytes of device memory for first sums: 1048576 of 1048576 are free");
  EXPECT_EQ(devices[0]->synchronize().code(), StatusCode::kUnavailable);
}

/// The log-probabilities of tokens drawn after two prompts, alone and together, and of their likeliest alternatives.
std::vector<float> logprobs_of(TestModel& model, const ExecutorShape& shape) {
  SequenceRunner runner(*model.executor, model.groups, shape);
  std::vector<TestSequence> sequences = {{.tokens = {5, 17, 9, 80, 31, 6, 7, 8, 9, 10, 11}}, {.tokens = {40, 3, 22}}};
  std::vector<float> logprobs;
  for (int32_t step = 0; step < 6; ++step) {
    for (TestSequence& sequence : sequences) {
      if (step == 0 && &sequence != sequences.data()) continue;
      runner.add_slice(sequence, sequence.uncached());
    }
    for (const SampledToken& sample : runner.step()) {
      for (const TokenLogprob& candidate : sample.top) logprobs.push_back(candidate.logprob);
    }
  }
  return logprobs;
}

RankBackends backends_on(RankDevices& ranks) {
  RankBackends made;
  for (const auto& device : ranks.devices) {
    made.backends.push_back(make_cuda_backend(*device, {.element = Element::kF32}));
  }
  if (ranks.devices.size() > 1) made.group = std::move(ranks.group);
  return made;
}

TEST(DeviceRanks, ShareNoVocabularyWhoseTokensTheyCouldNotTellApart) {
  RankDevices ranks(2);
  EXPECT_TRUE(DrawnTokens(*ranks.devices[0]).allocate(16, 1 << 24).ok());
  EXPECT_EQ(DrawnTokens(*ranks.devices[0]).allocate(16, (1 << 24) + 1),
            failed_precondition("GPUs can't share a model of 16777217 tokens, 16777216 at most"));
  HostDevice alone(kDeviceBytes);
  EXPECT_TRUE(DrawnTokens(alone).allocate(16, (1 << 24) + 1).ok());
  EXPECT_EQ(alone.memory().free, kDeviceBytes);
}

TEST(DeviceRanks, TakeAsMuchOfTheCacheAsTheSmallestKeeps) {
  const auto bytes_of = [](int64_t first_bytes, int64_t second_bytes) {
    RankDevices ranks(2);
    ranks.devices[0] = std::make_unique<HostDevice>(first_bytes, gpu::simt::Order{}, &ranks.group->of(0));
    ranks.devices[1] = std::make_unique<HostDevice>(second_bytes, gpu::simt::Order{}, &ranks.group->of(1));
    const auto checkpoint = Checkpoint::open(SLUICE_SOURCE_DIR "/tests/data/tiny/llama").value();
    const auto model = ParallelModel::load(*checkpoint, backends_on(ranks), 16, [](int64_t) {});
    return model->cache_bytes_max(KvLayout::for_model(model->config(), 8, KvType::kF32, 16)).value();
  };
  const int64_t small = kDeviceBytes;
  const int64_t large = small + (int64_t{8} << 20);
  EXPECT_EQ(bytes_of(large, large), bytes_of(small, small) + (int64_t{16} << 20));
  EXPECT_EQ(bytes_of(small, large), bytes_of(small, small));
  EXPECT_EQ(bytes_of(large, small), bytes_of(small, small));
}

TEST(DeviceRanks, TellWhatAllOfThemTake) {
  const ExecutorShape shape{.block_size = 8, .block_count = 64, .tokens_max = 16, .kv_type = KvType::kF32};
  RankDevices ranks(2);
  const auto model =
      make_parallel_model(SLUICE_SOURCE_DIR "/tests/data/tiny/llama", shape, backends_on(ranks)).value().executor;
  int64_t bytes = 0;
  for (const MemoryUse& use : model->memory_uses()) bytes += use.bytes;
  EXPECT_EQ(model->memory_uses().back().purpose, "free");
  EXPECT_GT(model->memory_uses().back().bytes, kDeviceBytes);
  EXPECT_LE(bytes, 2 * kDeviceBytes);
}

class SharedOnDevices : public ::testing::TestWithParam<std::string> {};

TEST_P(SharedOnDevices, ModelsComeOutAsTheyDoOnOne) {
  const std::string path = SLUICE_SOURCE_DIR "/tests/data/tiny/" + GetParam();
  const ExecutorShape shape{.block_size = 8, .block_count = 64, .tokens_max = 16, .kv_type = KvType::kF32};
  std::vector<std::vector<float>> logprobs;
  for (const int32_t count : {1, 2}) {
    RankDevices ranks(count);
    auto model = make_parallel_model(path, shape, backends_on(ranks));
    ASSERT_TRUE(model.ok()) << model.status();
    logprobs.push_back(logprobs_of(*model, shape));
    model->executor.reset();
  }
  ASSERT_EQ(logprobs[0].size(), logprobs[1].size());
  ASSERT_GE(logprobs[0].size(), 100U);
  for (size_t i = 0; i < logprobs[0].size(); ++i) EXPECT_NEAR(logprobs[0][i], logprobs[1][i], 1e-4F) << i;
}

// The second device draws nothing: not told, it would go on with token 0.
TEST(DeviceRanks, GoAheadAndAllGetTheTokenThatTheFirstDrew) {
  const ExecutorShape shape{.block_count = 64, .tokens_max = 40, .kv_type = KvType::kF32};
  RankDevices ranks(2);
  const auto model = make_parallel_model(SLUICE_SOURCE_DIR "/tests/data/tiny/llama", shape, backends_on(ranks)).value();
  ASSERT_EQ(model.executor->steps_ahead(), 1);
  EXPECT_EQ(drawn_ahead(*model.executor, 20), drawn_one_by_one(*model.executor, 20));
}

INSTANTIATE_TEST_SUITE_P(Tiny, SharedOnDevices,
                         ::testing::Values("llama", "gemma3", "mistral-window", "mixtral", "qwen3", "qwen3-moe"),
                         [](const auto& test) {
                           std::string name = test.param;
                           for (char& c : name) c = c == '-' ? '_' : c;
                           return name;
                         });

}  // namespace
}  // namespace sluice::engine::cuda
