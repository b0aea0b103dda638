#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "engine/checkpoint.h"
#include "engine/cuda/cuda_backend.h"
#include "engine/cuda/device_weights.h"
#include "engine/cuda/host_device.h"
#include "engine/model_loader.h"
#include "engine/watched_checkpoint.h"

namespace sluice::engine::cuda {
namespace {

constexpr int64_t kRoomy = int64_t{256} << 20;

std::string tiny(const std::string& model) {
  return SLUICE_SOURCE_DIR "/tests/data/tiny/" + model;
}

TEST(CudaModelLoading, TellsItsProgressToTheLastByteWhenItIsRead) {
  for (const std::string& path : {tiny("llama"), tiny("qwen2"), std::string("synthetic:tiny")}) {
    SCOPED_TRACE(path);
    const auto checkpoint = Checkpoint::open(path).value();
    HostDevice device(kRoomy);
    const int64_t bytes = stored_bytes(checkpoint->tensors());
    std::vector<int64_t> told;
    const WatchedCheckpoint watched(*checkpoint, [&](int64_t done) { told.push_back(done); });
    const auto model = load_model(watched, make_cuda_backend(device, {}), 16);
    ASSERT_TRUE(model.ok()) << model.status();
    EXPECT_TRUE(std::ranges::is_sorted(told));
    EXPECT_EQ(told.back(), bytes);
    // After the ends and each layer nothing but norms and biases has been read.
    EXPECT_LT(told.at(static_cast<size_t>(model->config.layer_count)), bytes / 4);
    EXPECT_EQ(model->backend->unread_bytes(), 0);
  }
}

TEST(CudaModelLoading, LeavesTensorsUnreadUntilItIsFinished) {
  const auto checkpoint = Checkpoint::open(tiny("llama")).value();
  HostDevice device(kRoomy);
  DeviceWeights weights(device, {});
  const StoredTensor* const tensor = checkpoint->tensors().find_tensor("blk.0.ffn_up.weight");
  ASSERT_TRUE(weights.add_matrix({{tensor}}).ok());
  ASSERT_TRUE(weights.allocate().ok());
  EXPECT_EQ(weights.unread_bytes(), tensor->bytes());
  EXPECT_EQ(device.host_bytes(), 0);
  int64_t unread = -1;
  ASSERT_TRUE(weights.finish([&](int64_t bytes) { unread = bytes; }).ok());
  EXPECT_EQ(unread, 0);
  EXPECT_EQ(weights.unread_bytes(), 0);
}

}  // namespace
}  // namespace sluice::engine::cuda
