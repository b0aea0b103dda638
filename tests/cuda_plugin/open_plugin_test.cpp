#include "engine/cuda/open_plugin.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/temporary_folder.h"

namespace sluice::engine::cuda {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Folders = std::vector<std::filesystem::path>;

/// Those of plugins/, as the build has made them.
std::filesystem::path folder_of(const std::string& plugin) {
  return std::filesystem::path(SLUICE_PLUGINS) / plugin;
}

Status refusal_of(const Folders& folders) {
  const Result<const Plugin*> opened = open_plugin(folders);
  EXPECT_EQ(opened.status().code(), StatusCode::kFailedPrecondition);
  return opened.status();
}

TEST(OpenPlugin, LooksBesideTheProgramThenInLib) {
  EXPECT_THAT(plugin_folders("/opt/sluice/bin/sluiced"), ElementsAre("/opt/sluice/bin", "/opt/sluice/lib"));
}

TEST(OpenPlugin, NamesTheFoldersWhereThereIsNone) {
  EXPECT_EQ(
      refusal_of({"/nowhere/bin", "/nowhere/lib"}).message(),
      "there is no CUDA backend: no libsluice_cuda.so in /nowhere/bin or /nowhere/lib; build with the preset cuda, "
      "or use the device cpu");
}

TEST(OpenPlugin, NamesAFileThatIsNoLibrary) {
  const TemporaryFolder folder;
  folder.write(kPluginFile, "not a shared object");
  const std::string message = refusal_of({folder.path()}).message();
  EXPECT_THAT(message, HasSubstr("the CUDA backend can't be loaded: "));
  EXPECT_THAT(message, HasSubstr(folder.path_of(kPluginFile)));
}

TEST(OpenPlugin, NamesALibraryThatIsNoPlugin) {
  const std::string message = refusal_of({folder_of("without_entry")}).message();
  EXPECT_THAT(message, HasSubstr("without_entry/libsluice_cuda.so is no CUDA backend: "));
  EXPECT_THAT(message, HasSubstr("sluice_cuda_plugin"));
}

TEST(OpenPlugin, RefusesAnotherBuildAndNamesBoth) {
  const std::string message = refusal_of({folder_of("other_build")}).message();
  EXPECT_THAT(message, HasSubstr("other_build/libsluice_cuda.so is of another build"));
  EXPECT_THAT(message, HasSubstr("\"Sluice 0.0.1, compiled by 12.2.0\""));
  EXPECT_THAT(message, HasSubstr("\"Sluice "));
  EXPECT_THAT(message, HasSubstr("compiled by " __VERSION__ " from headers " + std::string(header_digest()) +
                                 "\"; install both from one build"));
}

TEST(OpenPlugin, RefusesOneOfOtherHeadersThoughVersionAndCompilerAreTheSame) {
  const std::string message = refusal_of({folder_of("other_headers")}).message();
  EXPECT_THAT(message, HasSubstr("other_headers/libsluice_cuda.so is of another build"));
  EXPECT_THAT(message, HasSubstr(" from headers 0123456789abcdef\", this program of \"Sluice "));
}

TEST(OpenPlugin, TakesTheFirstThatIsThere) {
  const Result<const Plugin*> first = open_plugin(Folders{folder_of("one_device"), folder_of("other_build")});
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_TRUE(open_plugin(Folders{"/nowhere", folder_of("one_device")}).ok());
  EXPECT_FALSE(open_plugin(Folders{folder_of("other_build"), folder_of("one_device")}).ok());
}

class OneDevice : public ::testing::Test {
 protected:
  Status open(int32_t ordinal, int32_t count = 1) {
    const Result<const Plugin*> plugin = open_plugin(Folders{folder_of("one_device")});
    return plugin.ok()
               ? open_devices(**plugin, {.ordinal = ordinal, .device_count = count, .backend = {}, .products = {}})
                     .status()
               : plugin.status();
  }
};

TEST_F(OneDevice, IsOpened) {
  EXPECT_EQ(open(0).message(), "asked for device 0");
}

TEST_F(OneDevice, HasNoOtherBesideIt) {
  for (const int32_t ordinal : {-1, 1, 7}) {
    const Status refused = open(ordinal);
    EXPECT_EQ(refused.code(), StatusCode::kFailedPrecondition);
    EXPECT_EQ(refused.message(),
              "there is no device cuda:" + std::to_string(ordinal) + ", only cuda:0 (Imagined GPU, 1 GiB)");
  }
}

TEST_F(OneDevice, IsNotThree) {
  EXPECT_EQ(open(0, 3), failed_precondition("asked for 3 GPUs from cuda:0 on, found 1"));
  EXPECT_EQ(open(1, 3).message(), "there is no device cuda:1, only cuda:0 (Imagined GPU, 1 GiB)");
}

/// A machine with four.
const Plugin kFourDevices{
    .abi = "",
    .devices = [] { return Result<std::vector<std::string>>(std::vector<std::string>(4, "Imagined GPU, 1 GiB")); },
    .open = [](const PluginOptions& options) -> Result<RankBackends> {
      return Status(StatusCode::kCancelled, "asked for " + std::to_string(options.device_count) + " devices from " +
                                                std::to_string(options.ordinal) + " on");
    }};

Status open_of_four(int32_t ordinal, int32_t count, bool is_batch_invariant = false) {
  return open_devices(kFourDevices, {.ordinal = ordinal,
                                     .device_count = count,
                                     .backend = {},
                                     .products = {.is_batch_invariant = is_batch_invariant}})
      .status();
}

TEST(OpenDevices, OpensAsManyAsThereAreFromAnyOn) {
  EXPECT_EQ(open_of_four(0, 4).message(), "asked for 4 devices from 0 on");
  EXPECT_EQ(open_of_four(2, 2).message(), "asked for 2 devices from 2 on");
  EXPECT_EQ(open_of_four(3, 1).message(), "asked for 1 devices from 3 on");
}

TEST(OpenDevices, TellsHowManyThereAreWhereMoreAreAskedFor) {
  EXPECT_EQ(open_of_four(0, 5), failed_precondition("asked for 5 GPUs from cuda:0 on, found 4"));
  EXPECT_EQ(open_of_four(3, 2), failed_precondition("asked for 2 GPUs from cuda:3 on, found 1"));
  EXPECT_EQ(open_of_four(0, 64), failed_precondition("asked for 64 GPUs from cuda:0 on, found 4"));
}

TEST(OpenDevices, KeepsStepsApartOnUpToTwo) {
  EXPECT_EQ(open_of_four(0, 2, true).message(), "asked for 2 devices from 0 on");
  EXPECT_EQ(open_of_four(0, 3, true),
            failed_precondition("sums between 3 GPUs depend on what else is in the batch; use 2, or no "
                                "cuda_batch_invariant"));
}

TEST(OpenCudaBackends, MissesThePluginBeforeTheDriver) {
  const Result<RankBackends> opened = open_cuda_backends(Folders{"/nowhere"}, {});
  EXPECT_THAT(opened.status().message(), HasSubstr("there is no CUDA backend"));
}

TEST(OpenCudaBackends, NamesAMissingDriverBeforeAnythingIsLoaded) {
  const Status driver = check_driver();
  if (driver.ok()) GTEST_SKIP() << "this machine has a driver";
  EXPECT_EQ(driver.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(driver.message(), HasSubstr("this machine has no NVIDIA driver: libcuda.so.1: "));
  EXPECT_EQ(open_cuda_backends(Folders{folder_of("other_build")}, {}).status(), driver);
}

}  // namespace
}  // namespace sluice::engine::cuda
