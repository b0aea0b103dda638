#include "engine/cuda/cuda_backend.h"

#include <limits>
#include <set>
#include <string>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/cuda/host_device.h"
#include "tests/cuda/failing_device.h"
#include "tests/engine/sequence_runner.h"

namespace sluice::engine {
namespace {

using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::MatchesRegex;

Status load(const std::string& model, const ExecutorShape& shape, int64_t device_bytes) {
  cuda::HostDevice device(device_bytes);
  const std::string path = SLUICE_SOURCE_DIR "/tests/data/tiny/" + model;
  const auto executor = make_executor(path, shape, make_cuda_backend(device, {}));
  return executor.ok() ? Status() : executor.status();
}

constexpr int64_t kRoomy = int64_t{256} << 20;
const ExecutorShape kShape{.block_count = 8, .tokens_max = 64, .kv_type = KvType::kBf16};

TEST(CudaBackend, LoadsWhatFits) {
  EXPECT_TRUE(load("llama", kShape, kRoomy).ok());
}

TEST(CudaBackend, RefusesAModelThatDoesntFitWithTheNumbers) {
  const Status refused = load("llama", kShape, 100'000);
  EXPECT_EQ(refused.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(refused.message(),
              MatchesRegex(".*no [0-9]+ bytes of device memory for [a-z ]+: [0-9]+ of 100000 are free"));
}

TEST(CudaBackend, RefusesACacheThatDoesntFit) {
  ExecutorShape shape = kShape;
  shape.block_count = 1 << 20;
  const Status refused = load("llama", shape, kRoomy);
  EXPECT_EQ(refused.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(refused.message(), HasSubstr("for the KV cache"));
}

TEST(CudaBackend, RefusesATypeOfCacheWithoutKernels) {
  ExecutorShape shape = kShape;
  shape.kv_type = KvType::kInt8;
  EXPECT_EQ(load("llama", shape, kRoomy).message(), "kv.dtype int8 can't be had on CUDA; use bf16, f16 or fp8");
}

TEST(CudaBackend, RefusesBlocksThatCopiesDontFit) {
  ExecutorShape shape = kShape;
  shape.block_size = 4;
  EXPECT_EQ(load("llama", shape, kRoomy).message(), "kv.block_size 4 can't be had on CUDA; use a multiple of 8");
}

// Steps of as many rows are recorded for several lengths of contexts, but have the same products.
TEST(CudaBackend, PreparesEachKindOfProductOnce) {
  cuda::HostDevice host(kRoomy);
  cuda::FailingDevice device(host, std::numeric_limits<int64_t>::max());
  ASSERT_TRUE(make_executor(SLUICE_SOURCE_DIR "/tests/data/tiny/llama", kShape, make_cuda_backend(device, {})).ok());
  std::set<std::tuple<int32_t, int32_t, int32_t, bool, bool>> kinds;
  std::set<int32_t> rows;
  for (const cuda::Product& product : device.prepared()) {
    rows.insert(product.rows);
    EXPECT_TRUE(
        kinds.emplace(product.rows, product.outputs, product.inputs, product.adds, product.bias != nullptr).second)
        << product.rows << " rows of " << product.inputs << " by " << product.outputs;
  }
  EXPECT_THAT(rows, IsSupersetOf({1, 2, 64}));
}

}  // namespace
}  // namespace sluice::engine
