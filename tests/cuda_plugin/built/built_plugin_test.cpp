#include <filesystem>
#include <memory>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/cuda/open_plugin.h"

// The CUDA backend as it is shipped, on whatever machine this is.

namespace sluice::engine::cuda {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

Result<const Plugin*> open_built() {
  return open_plugin(std::vector<std::filesystem::path>{SLUICE_BUILT_PLUGIN});
}

TEST(BuiltPlugin, IsOpenedByAProgramOfTheSameBuild) {
  const Result<const Plugin*> plugin = open_built();
  ASSERT_TRUE(plugin.ok()) << plugin.status();
  EXPECT_EQ((*plugin)->abi, plugin_abi(SLUICE_VERSION, header_digest()));
}

TEST(BuiltPlugin, TellsCudasReasonWhereThereIsNoDriver) {
  if (check_driver().ok()) GTEST_SKIP() << "this machine has a driver";
  const Result<const Plugin*> plugin = open_built();
  ASSERT_TRUE(plugin.ok()) << plugin.status();
  for (const Status& refused : {(*plugin)->devices().status(), (*plugin)->open({}).status()}) {
    EXPECT_EQ(refused.code(), StatusCode::kFailedPrecondition);
    EXPECT_THAT(refused.message(), HasSubstr("CUDA error 35"));  // cudaErrorInsufficientDriver
  }
}

TEST(BuiltPlugin, MissesNcclForSeveralDevicesAlone) {
  const Result<const Plugin*> plugin = open_built();
  ASSERT_TRUE(plugin.ok()) << plugin.status();
  PluginOptions options;
  options.device_count = 2;
  options.nccl_file = "/nowhere/libnccl.so.2";
  EXPECT_EQ((*plugin)->open(options).status(),
            failed_precondition("several GPUs need NCCL to share a model, one works without: /nowhere/libnccl.so.2: "
                                "cannot open shared object file: No such file or directory"));
}

TEST(BuiltPlugin, OpensTheFirstDeviceThatItTells) {
  const Result<const Plugin*> plugin = open_built();
  ASSERT_TRUE(plugin.ok()) << plugin.status();
  const Result<std::vector<std::string>> devices = (*plugin)->devices();
  if (!devices.ok()) GTEST_SKIP() << devices.status();
  const Result<RankBackends> opened = (*plugin)->open({});
  ASSERT_TRUE(opened.ok()) << opened.status();
  ASSERT_EQ(opened->backends.size(), 1U);
  EXPECT_EQ(opened->group, nullptr);
  EXPECT_THAT(opened->backends.front()->description(), StartsWith("cuda:0 " + devices->front()));
  EXPECT_GT(opened->backends.front()->cache_bytes_max({}).value_or(0), 0);
}

}  // namespace
}  // namespace sluice::engine::cuda
