#include "server/backend_choice.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/cuda/open_plugin.h"
#include "tests/server/kept_log.h"

namespace sluice::server {
namespace {

using engine::cuda::Element;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

TEST(CudaOptionsOfConfig, KeepWeightsAsTheConfigurationSays) {
  const engine::CudaOptions plain = cuda_options({});
  EXPECT_EQ(plain.element, Element::kBf16);
  EXPECT_FALSE(plain.keeps_blocks);
  const engine::CudaOptions fp8 = cuda_options({.cuda_weights = "fp8"});
  EXPECT_EQ(fp8.element, Element::kFp8);
  EXPECT_FALSE(fp8.keeps_blocks);
  const engine::CudaOptions stored = cuda_options({.cuda_weights = "stored"});
  EXPECT_EQ(stored.element, Element::kBf16);
  EXPECT_TRUE(stored.keeps_blocks);
  EXPECT_GT(stored.gemv_rows_max, plain.gemv_rows_max);
}

TEST(CudaOptionsOfConfig, HaveOnePathForAnyNumberOfRowsWhereItsInvariant) {
  for (const char* const weights : {"bf16", "fp8", "stored"}) {
    EXPECT_GT(cuda_options({.cuda_weights = weights}).gemv_rows_max, 0);
    EXPECT_EQ(cuda_options({.cuda_batch_invariant = true, .cuda_weights = weights}).gemv_rows_max, 0);
  }
}

/// What a model of no particular shape is computed on.
class BackendChoice : public ::testing::Test {
 protected:
  BackendChoice() { config_.engine.threads = 2; }

  Result<engine::RankBackends> choose(const std::string& device) {
    config_.engine.device = device;
    return choose_backends(config_, model_, {clock_, log_.logger()});
  }

  KeptLog log_;
  const SteadyClock clock_;
  const engine::ModelConfig model_;
  Config config_;
};

TEST_F(BackendChoice, TheCpuHasABackendForEachRank) {
  const auto one = choose("cpu");
  ASSERT_TRUE(one.ok()) << one.status();
  ASSERT_EQ(one->backends.size(), 1U);
  EXPECT_EQ(one->group, nullptr);
  EXPECT_THAT(one->backends.front()->description(), AllOf(StartsWith("cpu "), HasSubstr("2 threads")));
  config_.engine.tensor_parallel = 2;
  const auto two = choose("cpu");
  ASSERT_TRUE(two.ok()) << two.status();
  ASSERT_EQ(two->backends.size(), 2U);
  EXPECT_EQ(two->group->rank_count(), 2);
  EXPECT_THAT(two->backends.back()->description(), HasSubstr("1 thread"));
  EXPECT_THAT(log_.text(), IsEmpty()) << "what was asked for needs no word";
}

TEST_F(BackendChoice, AGpuThatIsNamedAndNotThereIsAnErrorAndNeverTheCpu) {
  const Status status = choose("cuda:63").status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(status.field(), "engine.device");
  EXPECT_THAT(status.message(), StartsWith("engine.device is cuda:63, but "));
  EXPECT_THAT(log_.text(), IsEmpty());
}

TEST_F(BackendChoice, ADeviceThatIsNoneIsRefused) {
  EXPECT_EQ(choose("gpu").status().field(), "engine.device");
}

TEST_F(BackendChoice, TheCpuHasNoCacheOfFp8) {
  config_.kv.dtype = "fp8";
  const Status status = choose("cpu").status();
  EXPECT_EQ(status.field(), "kv.dtype");
  EXPECT_EQ(status.message(), "kv.dtype is fp8, which can't be had on the CPU; use int8");
}

/// Of a machine without NVIDIA's driver.
class BackendChoiceWithoutGpu : public BackendChoice {
 protected:
  void SetUp() override {
    if (engine::cuda::check_driver().ok()) GTEST_SKIP() << "there may be a GPU here";
  }
};

TEST_F(BackendChoiceWithoutGpu, AutoTakesTheCpuAndTellsWhy) {
  const auto chosen = choose("auto");
  ASSERT_TRUE(chosen.ok()) << chosen.status();
  EXPECT_THAT(chosen->backends.front()->description(), StartsWith("cpu "));
  EXPECT_THAT(log_.text(), HasSubstr("INFO no GPU is used, the model runs on the CPU reason="));
  EXPECT_THAT(log_.text(), Not(HasSubstr("reason=\n")));
}

TEST_F(BackendChoiceWithoutGpu, AutoRefusesACacheThatOnlyAGpuHas) {
  config_.kv.dtype = "fp8";
  EXPECT_EQ(choose("auto").status().field(), "kv.dtype");
}

TEST_F(BackendChoiceWithoutGpu, TheFirstGpuIsMissedByItsName) {
  EXPECT_THAT(choose("cuda").status().message(), StartsWith("engine.device is cuda, but "));
}

}  // namespace
}  // namespace sluice::server
