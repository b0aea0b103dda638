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
  EXPECT_THAT(message, HasSubstr("compiled by " __VERSION__ "\"; install both from one build"));
}

TEST(OpenPlugin, TakesTheFirstThatIsThere) {
  const Result<const Plugin*> first = open_plugin(Folders{folder_of("one_device"), folder_of("other_build")});
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_TRUE(open_plugin(Folders{"/nowhere", folder_of("one_device")}).ok());
  EXPECT_FALSE(open_plugin(Folders{folder_of("other_build"), folder_of("one_device")}).ok());
}

class OneDevice : public ::testing::Test {
 protected:
  Status open(int32_t ordinal) {
    const Result<const Plugin*> plugin = open_plugin(Folders{folder_of("one_device")});
    return plugin.ok() ? open_device(**plugin, {.ordinal = ordinal, .backend = {}, .products = {}}).status()
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

TEST(OpenCudaBackend, MissesThePluginBeforeTheDriver) {
  const Result<std::unique_ptr<Backend>> opened = open_cuda_backend(Folders{"/nowhere"}, {});
  EXPECT_THAT(opened.status().message(), HasSubstr("there is no CUDA backend"));
}

TEST(OpenCudaBackend, NamesAMissingDriverBeforeAnythingIsLoaded) {
  const Status driver = check_driver();
  if (driver.ok()) GTEST_SKIP() << "this machine has a driver";
  EXPECT_EQ(driver.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(driver.message(), HasSubstr("this machine has no NVIDIA driver: libcuda.so.1: "));
  EXPECT_EQ(open_cuda_backend(Folders{folder_of("other_build")}, {}).status(), driver);
}

}  // namespace
}  // namespace sluice::engine::cuda
